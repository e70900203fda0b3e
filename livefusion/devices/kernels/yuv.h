// Between YCbCr and RGB; the coefficients are those of `livefusion.ops.yuv`.
#pragma once
#include "lf.h"

struct LfColor {
    float r, g, b;
};

struct LfYuvToRgb {
    float luma_offset, luma_gain, red_cr, green_cb, green_cr, blue_cb;

    // R, G, B within 0-255 of Y and of Cb and Cr less 128.
    LF_DEVICE LfColor operator()(float luma, float cb, float cr) const {
        const float light = (luma - luma_offset) * luma_gain;
        return {
            lf_clamp(light + red_cr * cr, 0.0f, 255.0f),
            lf_clamp(light + green_cb * cb + green_cr * cr, 0.0f, 255.0f),
            lf_clamp(light + blue_cb * cb, 0.0f, 255.0f),
        };
    }
};

struct LfRgbToYuv {
    float luma_offset;
    LfColor luma, cb, cr;
};

LF_DEVICE float lf_dot(const LfColor& a, const LfColor& b) { return a.r * b.r + a.g * b.g + a.b * b.b; }
