// Make a region unrecognisable: means over cells, then smooth ramps between them, which leave nothing finer.
#pragma once
#include "lf.h"

struct LfBlur {
    LfView<u8> luma, chroma;
    float* means;  // a grid for Y, one for Cb, one for Cr
    int left, top, width, height;  // of the box with its margin, within the picture, even
    int rows, columns;  // of each grid
    float across, down;  // cells for each pixel
    float box_left, box_top, box_right, box_bottom;  // of the box itself, seen from `left` and `top`
    int feather;
};

// Sums of two interleaved channels, or of a single one.
struct LfTwoSums {
    i64 first, second;

    LF_DEVICE LfTwoSums& operator+=(const LfTwoSums& other) {
        first += other.first;
        second += other.second;
        return *this;
    }
};

// The pixels of a cell in a plane of the area, which has `step` pixels for each of the plane.
struct LfCell {
    int left, right, top, bottom;

    LF_DEVICE LfCell(const LfBlur& a, int column, int row, int step) {
        const int width = a.width / step, height = a.height / step;
        left = int(i64(column) * width / a.columns), right = int(i64(column + 1) * width / a.columns);
        top = int(i64(row) * height / a.rows), bottom = int(i64(row + 1) * height / a.rows);
    }
};

// The lanes of a block are 32 to a row. `plane` is 0 for luma and 1 for chroma.
LF_DEVICE LfTwoSums blur_means_part(const LfBlur& a, int column, int row, int plane, int lane) {
    const LfCell cell(a, column, row, 1 + plane);
    u32 first = 0, second = 0;
    for (int y = cell.top + lane / 32; y < cell.bottom; y += LF_LANES / 32)
        for (int x = cell.left + lane % 32; x < cell.right; x += 32) {
            if (plane == 0) {
                first += *a.luma.at(a.left + x, a.top + y);
            } else {
                const u8* sample = a.chroma.at(a.left / 2 + x, a.top / 2 + y);
                first += sample[0];
                second += sample[1];
            }
        }
    return {first, second};
}

LF_DEVICE void blur_means_done(const LfBlur& a, int column, int row, int plane, const LfTwoSums& sum) {
    const LfCell cell(a, column, row, 1 + plane);
    const float count = float(cell.right - cell.left) * float(cell.bottom - cell.top);
    float* mean = a.means + plane * a.rows * a.columns + row * a.columns + column;
    mean[0] = float(sum.first) / count;
    if (plane == 1) mean[a.rows * a.columns] = float(sum.second) / count;
}

// The ramps at a point, in pixels of luma from the area's corner, and how much of them is to be seen there.
struct LfVeil {
    const float* means;
    int columns, upper, lower, left, right;
    float across, down, cover;

    LF_DEVICE LfVeil(const LfBlur& a, float x, float y, float step) : means(a.means), columns(a.columns) {
        const float column = lf_clamp(x * a.across - 0.5f, 0.0f, float(a.columns - 1));
        const float row = lf_clamp(y * a.down - 0.5f, 0.0f, float(a.rows - 1));
        left = int(column), right = left + 1 < a.columns ? left + 1 : left;
        upper = int(row), lower = upper + 1 < a.rows ? upper + 1 : upper;
        across = column - left, down = row - upper;
        const float aside = fmax(fmax(a.box_left - x, x - a.box_right), 0.0f);
        const float above = fmax(fmax(a.box_top - y, y - a.box_bottom), 0.0f);
        cover = fmax(1 - sqrt(aside * aside + above * above) / fmax(float(a.feather), step), 0.0f);
    }

    LF_DEVICE u8 over(u8 old, const float* grid) const {
        const float *top = grid + upper * columns, *bottom = grid + lower * columns;
        const float high = top[left] + (top[right] - top[left]) * across;
        const float low = bottom[left] + (bottom[right] - bottom[left]) * across;
        return lf_byte(old + (high + (low - high) * down - old) * cover);
    }
};

// One item for each 2x2 pixels.
LF_DEVICE void blur_veil_px(const LfBlur& a, int across, int down, int) {
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            const int x = 2 * across + i, y = 2 * down + j;
            u8* luma = a.luma.at(a.left + x, a.top + y);
            *luma = LfVeil(a, x + 0.5f, y + 0.5f, 1).over(*luma, a.means);
        }
    u8* chroma = a.chroma.at(a.left / 2 + across, a.top / 2 + down);
    const LfVeil veil(a, 2 * across + 1, 2 * down + 1, 2);
    const int grid = a.rows * a.columns;
    chroma[0] = veil.over(chroma[0], a.means + grid);
    chroma[1] = veil.over(chroma[1], a.means + 2 * grid);
}
