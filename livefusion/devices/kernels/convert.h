// NV12 to RGB and back: one item for each 2x2 pixels, whose chroma sample they share.
#pragma once
#include "yuv.h"

struct LfToRgb {
    LfView<u8> luma, chroma, rgb;
    LfYuvToRgb to_rgb;
    int is_left, reserved;  // whether chroma samples lie on the left pair of pixels, or in the centre of the four
};

// Sixteen times the chroma at pixel i, j of a block: its own sample, and the nearest ones beside and above or below.
LF_DEVICE int lf_chroma_16(const LfToRgb& a, int column, int row, int i, int j, int channel) {
    const int beside = lf_clamp(column + (i ? 1 : -1), 0, a.chroma.width - 1);
    const int beyond = lf_clamp(row + (j ? 1 : -1), 0, a.chroma.height - 1);
    const int weight = a.is_left ? (i ? 2 : 0) : 1;  // of what lies beside, in quarters
    const int near = (4 - weight) * a.chroma.at(column, row)[channel] + weight * a.chroma.at(beside, row)[channel];
    const int far = (4 - weight) * a.chroma.at(column, beyond)[channel] + weight * a.chroma.at(beside, beyond)[channel];
    return 3 * near + far;
}

LF_DEVICE void nv12_to_rgb_px(const LfToRgb& a, int column, int row, int) {
    for (int j = 0; j < 2; j++) {
        const u8* luma = a.luma.at(2 * column, 2 * row + j);
        u8* rgb = a.rgb.at(2 * column, 2 * row + j);
        for (int i = 0; i < 2; i++) {
            const float cb = float(lf_chroma_16(a, column, row, i, j, 0) - 2048) / 16.0f;
            const float cr = float(lf_chroma_16(a, column, row, i, j, 1) - 2048) / 16.0f;
            const LfColor color = a.to_rgb(luma[i], cb, cr);
            rgb[3 * i] = lf_byte(color.r);
            rgb[3 * i + 1] = lf_byte(color.g);
            rgb[3 * i + 2] = lf_byte(color.b);
        }
    }
}

struct LfFromRgb {
    LfView<u8> rgb, luma, chroma;
    LfRgbToYuv to_yuv;
    int is_left, reserved;
};

LF_DEVICE LfColor lf_color(const u8* rgb) { return {float(rgb[0]), float(rgb[1]), float(rgb[2])}; }

LF_DEVICE void rgb_to_nv12_px(const LfFromRgb& a, int column, int row, int) {
    const int left = 2 * column, before = left > 0 ? left - 1 : 0;
    const float side = a.is_left ? 1.0f : 0.0f;
    LfColor sum = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < 2; j++) {
        const LfColor back = lf_color(a.rgb.at(before, 2 * row + j));
        const LfColor here = lf_color(a.rgb.at(left, 2 * row + j));
        const LfColor next = lf_color(a.rgb.at(left + 1, 2 * row + j));
        u8* luma = a.luma.at(left, 2 * row + j);
        luma[0] = lf_byte(lf_dot(a.to_yuv.luma, here) + a.to_yuv.luma_offset);
        luma[1] = lf_byte(lf_dot(a.to_yuv.luma, next) + a.to_yuv.luma_offset);
        // Eighths: 1, 2, 1 of the columns before, at and after the sample, or 0, 2, 2 round a centred one.
        sum.r += side * back.r + 2.0f * here.r + (2.0f - side) * next.r;
        sum.g += side * back.g + 2.0f * here.g + (2.0f - side) * next.g;
        sum.b += side * back.b + 2.0f * here.b + (2.0f - side) * next.b;
    }
    u8* chroma = a.chroma.at(column, row);
    chroma[0] = lf_byte(lf_dot(a.to_yuv.cb, sum) / 8.0f + 128.0f);
    chroma[1] = lf_byte(lf_dot(a.to_yuv.cr, sum) / 8.0f + 128.0f);
}
