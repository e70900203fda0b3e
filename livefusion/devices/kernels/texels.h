// Mixing textures: how a face's skin changes with its expression.
#pragma once
#include "lf.h"

struct LfMix {
    LfView<u8> base;
    LfView<i8> deltas;  // boxes below each other
    LfView<u8> out;
    int left, top;  // of the box in the texture
    int height, count;  // of a box; of the boxes
    int steps[4];  // weights in 1/256
};

// One item for each texel of the box.
LF_DEVICE void mix_texels_px(const LfMix& a, int x, int y, int) {
    const u32 before = lf_load4(a.base.at(a.left + x, a.top + y));
    int sums[4] = {128, 128, 128, 128};
    // A bound that is known: steps of an index that is not would lie in slow memory.
    for (int n = 0; n < 4; n++) {
        if (n >= a.count) break;
        const u32 delta = lf_load4((const u8*)a.deltas.at(x, n * a.height + y));
        for (int c = 0; c < 4; c++) sums[c] += a.steps[n] * int(i8(delta >> 8 * c & 255));
    }
    u32 mixed = 0;
    for (int c = 0; c < 4; c++) {
        const int value = int(before >> 8 * c & 255) + (sums[c] >> 8);
        mixed |= u32(lf_clamp(value, 0, 255)) << 8 * c;
    }
    lf_store4(a.out.at(a.left + x, a.top + y), mixed);
}
