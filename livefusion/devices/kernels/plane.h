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
    LfView<i8> delta;
    int x, y;  // of the first value of `delta` in the picture
    int left, right, top;  // of what lies in the picture
    int start;  // the multiple of four at or before `left`
};

// One item for four pixels of a row, which lie on a multiple of four.
LF_DEVICE void add_plane_px(const LfAdd& a, int across, int down, int) {
    const int first = a.start + 4 * across, y = a.top + down;
    const bool whole = first >= a.left && first + 4 <= a.right;
    u8* luma = a.luma.at(first, y);
    const u32 old = whole ? lf_load4(luma) : 0;
    u32 all = 0;
    for (int i = 0; i < 4; i++) {
        if (first + i < a.left || first + i >= a.right) continue;
        const int before = whole ? int(old >> 8 * i & 255) : int(luma[i]);
        const int value = lf_clamp(before + *a.delta.at(first + i - a.x, y - a.y), 0, 255);
        if (whole) all |= u32(value) << 8 * i;
        else luma[i] = u8(value);
    }
    if (whole) lf_store4(luma, all);
}
