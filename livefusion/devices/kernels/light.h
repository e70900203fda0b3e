// Find the light that falls on the frame and not yet on the patch.
#pragma once
#include "colour.h"

#define LF_LINE 1024  // cells of the longest row or column
#define LF_FULL_CELL (LF_CELL_QUADS * LF_CELL_QUADS)

// Three differences of a cell, its weight, and that with holes filled.
struct LfFive {
    float v[5];
};

struct LfLight {
    LfView<float> cells, light;
    LfFive* between;  // of the narrow field, then the wide one: columns of the blurred rows
    const float* stats;
    int radius, rim_radius, passes;
    float lowest_gain, highest_gain;
    float relight, rim;
    float rim_start, rim_end;  // blurred weight of a full and of an ended rim
    float tolerance;  // code values by which the rim may miss the frame's

    LF_DEVICE LfFive* blurred(int wide) const { return between + i64(wide) * cells.width * cells.height; }
};

struct LfLightShared {
    LfFive lines[2][LF_LINE];
};

// The largest weight from a cell to the edge of the grid, in steps of (x, y).
LF_DEVICE float lf_most(const LfLight& a, int column, int row, int x, int y) {
    float most = 0;
    while (column >= 0 && row >= 0 && column < a.cells.width && row < a.cells.height && most < LF_FULL_CELL) {
        most = fmax(most, a.cells.at(column, row)[0]);
        column += x;
        row += y;
    }
    return most;
}

LF_DEVICE LfFive lf_difference(const LfLight& a, int column, int row, bool wide) {
    const float* cell = a.cells.at(column, row);
    LfFive found;
    for (int i = 0; i < 3; i++) {
        const LfMatch match(a.stats, i, a.lowest_gain, a.highest_gain);
        found.v[i] = cell[4 + i] - (cell[1 + i] * match.gain + match.shift * cell[0]);
    }
    found.v[3] = cell[0];
    found.v[4] = 0;
    if (!wide) return found;
    const float across = fmin(lf_most(a, column, row, -1, 0), lf_most(a, column, row, 1, 0));
    const float down = fmin(lf_most(a, column, row, 0, -1), lf_most(a, column, row, 0, 1));
    found.v[4] = fmax(across, down);
    return found;
}

// Mean over the neighbours of a value in a line, zero outside.
LF_DEVICE LfFive lf_box(const LfFive* line, int index, int size, int radius) {
    const int first = index > radius ? index - radius : 0;
    const int last = index + radius < size ? index + radius : size - 1;
    const float scale = 1.0f / float(2 * radius + 1);
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0;
    for (int i = first; i <= last; i++) {
        const LfFive& other = line[i];
        s0 += other.v[0], s1 += other.v[1], s2 += other.v[2], s3 += other.v[3], s4 += other.v[4];
    }
    return {{s0 * scale, s1 * scale, s2 * scale, s3 * scale, s4 * scale}};
}

// Boxes along rows and boxes along columns may change places: first all along the rows, a block for each.
LF_DEVICE int light_rows_phases(const LfLight& a) { return 1 + a.passes; }

LF_DEVICE void light_rows_phase(const LfLight& a, int row, int wide, int, int phase, int lane, LfNothing&,
                                LfLightShared& shared) {
    const int size = a.cells.width, radius = wide ? a.radius : a.rim_radius;
    for (int i = lane; i < size; i += LF_LANES) {
        const LfFive* before = shared.lines[(phase + 1) % 2];
        const LfFive value = phase == 0 ? lf_difference(a, i, row, wide) : lf_box(before, i, size, radius);
        if (phase < a.passes) shared.lines[phase % 2][i] = value;
        else a.blurred(wide)[i64(i) * a.cells.height + row] = value;
    }
}

// The share of the rim where the filled weight, blurred, is so much.
LF_DEVICE float lf_rim(const LfLight& a, float weight) {
    const float inside = lf_clamp((weight / LF_FULL_CELL - a.rim_start) / (a.rim_end - a.rim_start), 0.0f, 1.0f);
    return a.rim * (1 - inside * inside * (3 - 2 * inside));
}

// First the narrow field is written, then the lane that wrote it starts from the wide one.
LF_DEVICE void lf_mix_light(const LfLight& a, const LfFive& value, bool wide, float* light) {
    const float scale = (wide ? a.relight : 1.0f) / (value.v[3] + 1e-2f);
    if (!wide) {
        for (int k = 0; k < 3; k++) light[k] = value.v[k] * scale;
        return;
    }
    float step[3], squares = 0;
    for (int k = 0; k < 3; k++) {
        step[k] = light[k] - value.v[k] * scale;
        squares += step[k] * step[k];
    }
    const float share = lf_rim(a, value.v[4]) * (1 - a.tolerance / fmax(sqrt(squares), a.tolerance));
    for (int k = 0; k < 3; k++) light[k] = value.v[k] * scale + share * step[k];
}

LF_DEVICE int light_columns_phases(const LfLight& a) { return 2 * (1 + a.passes); }

LF_DEVICE void light_columns_phase(const LfLight& a, int column, int, int, int phase, int lane, LfNothing&,
                                   LfLightShared& shared) {
    const int size = a.cells.height, wide = phase > a.passes, step = phase - wide * (1 + a.passes);
    for (int i = lane; i < size; i += LF_LANES) {
        const LfFive* before = shared.lines[(step + 1) % 2];
        const LfFive value = step == 0 ? a.blurred(wide)[i64(column) * size + i]
                                       : lf_box(before, i, size, wide ? a.radius : a.rim_radius);
        if (step < a.passes) shared.lines[step % 2][i] = value;
        else lf_mix_light(a, value, wide, a.light.at(column, i));
    }
}
