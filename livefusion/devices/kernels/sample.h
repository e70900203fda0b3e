// Sample planes between their pixels, the border replicated outwards.
//
// Positions are fixed-point numbers of 64 bits: no map, however extreme, overflows them on its way to the clamp or
// loses the fraction of a pixel, and every compiler finds the same position.
#pragma once
#include "lf.h"

// One coordinate of an affine map: across * x + down * y + start, in units of 1 / 2^bits pixels. `bits` is from 1 to
// 31; the host sees to it that the sum stays below 2^62 over the whole extent.
struct LfAxis {
    i64 across, down, start, bits;

    LF_DEVICE i64 at(int x, int y) const { return across * x + down * y + start; }
};

// The two neighbours of a position, and how far it lies from the lower towards the higher one.
struct LfTap {
    int low, high;
    float part;
};

// `bits`, of the position's fraction, is from 1 to 32.
LF_DEVICE LfTap lf_tap(i64 position, int bits, int size) {
    const i64 inside = lf_clamp(position, i64(0), i64(size - 1) << bits);
    const int low = int(inside >> bits);
    return {low, low + 1 < size ? low + 1 : low, float(u32(inside) << (32 - bits)) * 0x1p-32f};
}

LF_DEVICE float lf_mix(float low, float high, float part) { return low + (high - low) * part; }

// A channel of an image at a pair of taps.
LF_DEVICE float lf_bilinear(const LfView<u8>& image, const LfTap& x, const LfTap& y, int channel) {
    const u8 *top_left = image.at(x.low, y.low), *top_right = image.at(x.high, y.low);
    const u8 *bottom_left = image.at(x.low, y.high), *bottom_right = image.at(x.high, y.high);
    const float upper = lf_mix(top_left[channel], top_right[channel], x.part);
    const float lower = lf_mix(bottom_left[channel], bottom_right[channel], x.part);
    return lf_mix(upper, lower, y.part);
}
