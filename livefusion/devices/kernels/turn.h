// NV12 turned and mirrored: one item for each 2x2 pixels of the output, whose chroma sample they share.
#pragma once
#include "lf.h"

struct LfTurn {
    LfView<u8> luma, chroma, out_luma, out_chroma;
    int transpose, mirror_x, mirror_y, reserved;
};

// The pixel of an image that x, y of its turned likeness shows.
LF_DEVICE const u8* lf_turned(const LfTurn& a, const LfView<u8>& image, int x, int y) {
    const int width = a.transpose ? image.height : image.width, height = a.transpose ? image.width : image.height;
    x = a.mirror_x ? width - 1 - x : x;
    y = a.mirror_y ? height - 1 - y : y;
    return a.transpose ? image.at(y, x) : image.at(x, y);
}

LF_DEVICE void turn_nv12_px(const LfTurn& a, int column, int row, int) {
    const u8* pair = lf_turned(a, a.chroma, column, row);
    u8* chroma = a.out_chroma.at(column, row);
    chroma[0] = pair[0];
    chroma[1] = pair[1];
    for (int j = 0; j < 2; j++) {
        u8* luma = a.out_luma.at(2 * column, 2 * row + j);
        luma[0] = *lf_turned(a, a.luma, 2 * column, 2 * row + j);
        luma[1] = *lf_turned(a, a.luma, 2 * column + 1, 2 * row + j);
    }
}
