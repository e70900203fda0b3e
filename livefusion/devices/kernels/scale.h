// NV12 in another size: one item for each 2x2 pixels of the output, whose chroma sample they share.
#pragma once
#include "resize.h"

struct LfScale {
    LfView<u8> luma, chroma, out_luma, out_chroma;
    int x, y, width, height;  // of the region that the picture fills, in chroma samples
    int background[3], reserved;
};

// A channel of pixel x, y of an image in another size.
template <int CHANNELS>
LF_DEVICE u8 lf_resized(const LfView<u8>& image, int width, int height, int x, int y, int channel) {
    return lf_byte(lf_mean<CHANNELS>(image, lf_span(image.width, width, x), lf_span(image.height, height, y), channel));
}

LF_DEVICE void scale_nv12_px(const LfScale& a, int column, int row, int) {
    u8* chroma = a.out_chroma.at(column, row);
    const int x = column - a.x, y = row - a.y;
    const bool is_inside = x >= 0 && y >= 0 && x < a.width && y < a.height;
    for (int i = 0; i < 4; i++) {
        const int right = i & 1, below = i >> 1;
        u8* luma = a.out_luma.at(2 * column + right, 2 * row + below);
        *luma = is_inside ? lf_resized<1>(a.luma, 2 * a.width, 2 * a.height, 2 * x + right, 2 * y + below, 0)
                          : u8(a.background[0]);
    }
    for (int i = 0; i < 2; i++)
        chroma[i] = is_inside ? lf_resized<2>(a.chroma, a.width, a.height, x, y, i) : u8(a.background[1 + i]);
}
