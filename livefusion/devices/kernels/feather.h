// Soften the alpha of a patch inward: sums of rows first, then the means of boxes; one item for each pixel.
#pragma once
#include "lf.h"

struct LfFeather {
    LfView<u8> patch;
    u32* sums;  // of each pixel's part of its row, as many as pixels
    int radius, reserved;
};

LF_DEVICE void mask_feather_rows_px(const LfFeather& a, int x, int y, int) {
    const int first = x > a.radius ? x - a.radius : 0;
    const int end = x + a.radius < a.patch.width ? x + a.radius + 1 : a.patch.width;
    u32 sum = 0;
    const u8* pixel = a.patch.at(first, y);
    for (int i = first; i < end; i++, pixel += 4) sum += pixel[3];
    a.sums[i64(y) * a.patch.width + x] = sum;
}

LF_DEVICE void mask_feather_px(const LfFeather& a, int x, int y, int) {
    u8* alpha = a.patch.at(x, y) + 3;
    if (*alpha == 0) return;
    const int first = y > a.radius ? y - a.radius : 0;
    const int end = y + a.radius < a.patch.height ? y + a.radius + 1 : a.patch.height;
    u32 sum = 0;
    for (int j = first; j < end; j++) sum += a.sums[i64(j) * a.patch.width + x];
    const u32 side = 2 * a.radius + 1, area = side * side;
    const u32 mean = (2 * sum + area) / (2 * area);
    if (mean < *alpha) *alpha = u8(mean);
}
