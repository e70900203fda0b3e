// Blend a Y, Cb, Cr, A patch into NV12, in place: one item for each 2x2 pixels, whose chroma sample they share.
#pragma once
#include "lf.h"

struct LfBlend {
    LfView<u8> luma, chroma, patch;
    int x, y;  // of the patch in the picture, even
    int left, top;  // of the part of the patch that lies in the picture, even
};

LF_DEVICE void blend_yuva_px(const LfBlend& a, int across, int down, int) {
    const int column = a.left + 2 * across, row = a.top + 2 * down;
    int weight = 0, cb = 0, cr = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            const u8* pixel = a.patch.at(column + i, row + j);
            u8* luma = a.luma.at(a.x + column + i, a.y + row + j);
            const int alpha = pixel[3];
            *luma = u8((*luma * (255 - alpha) + pixel[0] * alpha + 127) / 255);
            cb += alpha * pixel[1];
            cr += alpha * pixel[2];
            weight += alpha;
        }
    if (weight == 0) return;
    u8* chroma = a.chroma.at((a.x + column) / 2, (a.y + row) / 2);
    chroma[0] = u8((chroma[0] * (1020 - weight) + cb + 510) / 1020);
    chroma[1] = u8((chroma[1] * (1020 - weight) + cr + 510) / 1020);
}
