// Fill and shift the values of a rectangle of a picture.
#pragma once
#include "lf.h"

struct LfFill {
    LfView<u8> luma, chroma;
    int left, top;  // of what lies in the picture, even
    int y, cb, cr;
};

// One item for each 2x2 pixels.
LF_DEVICE void fill_region_px(const LfFill& a, int across, int down, int) {
    const int x = a.left + 2 * across, y = a.top + 2 * down;
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++) *a.luma.at(x + column, y + row) = u8(a.y);
    u8* chroma = a.chroma.at(x / 2, y / 2);
    chroma[0] = u8(a.cb);
    chroma[1] = u8(a.cr);
}

struct LfAdd {
    LfView<u8> luma;
    LfView<i8> delta;  // in 1/16 of a level
    LfView<u8> gains;  // 16x16, in 1/16
};

// One item for each 8x8 pixels; the luma's rows are read twice, which the cache forgives.
LF_DEVICE void add_plane_px(const LfAdd& a, int across, int down, int) {
    const int left = 8 * across, top = 8 * down;
    const int columns = lf_clamp(a.luma.width - left, 0, 8), rows = lf_clamp(a.luma.height - top, 0, 8);
    int low = 255, high = 0;
    for (int row = 0; row < rows; row++) {
        const u8* luma = a.luma.at(left, top + row);
        if (columns == 8) {
            for (int half = 0; half < 2; half++) {
                const u32 four = lf_load4(luma + 4 * half);
                for (int i = 0; i < 4; i++) {
                    const int value = int(four >> 8 * i & 255);
                    low = value < low ? value : low;
                    high = value > high ? value : high;
                }
            }
        } else {
            for (int i = 0; i < columns; i++) {
                low = luma[i] < low ? luma[i] : low;
                high = luma[i] > high ? luma[i] : high;
            }
        }
    }
    const int contrast = (high - low) / 4;
    const int gain = *a.gains.at((high + low) / 32, contrast < 15 ? contrast : 15);
    for (int row = 0; row < rows; row++) {
        u8* luma = a.luma.at(left, top + row);
        const i8* delta = a.delta.at(left, top + row);
        if (columns == 8) {
            for (int half = 0; half < 2; half++) {
                const u32 four = lf_load4(luma + 4 * half), change = lf_load4((const u8*)delta + 4 * half);
                u32 all = 0;
                for (int i = 0; i < 4; i++) {
                    const int shift = (int(i8(change >> 8 * i & 255)) * gain + 128) >> 8;
                    all |= u32(lf_clamp(int(four >> 8 * i & 255) + shift, 0, 255)) << 8 * i;
                }
                lf_store4(luma + 4 * half, all);
            }
        } else {
            for (int i = 0; i < columns; i++)
                luma[i] = u8(lf_clamp(int(luma[i]) + ((int(delta[i]) * gain + 128) >> 8), 0, 255));
        }
    }
}
