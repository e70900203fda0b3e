// How much of a patch shows: one item for each pixel.
#pragma once
#include "lf.h"

struct LfScaleAlpha {
    LfView<u8> patch;
    u8 table[256];  // what each alpha becomes
};

LF_DEVICE void scale_alpha_px(const LfScaleAlpha& a, int x, int y, int) {
    u8* alpha = a.patch.at(x, y) + 3;
    *alpha = a.table[*alpha];
}
