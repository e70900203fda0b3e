// Measure what gives a patch the colours and the light of the frame below it.
#pragma once
#include "lf.h"

#define LF_CELL_QUADS 4  // squares of 2x2 pixels along a side of a cell
#define LF_BLOCK_CELLS (LF_LANES / LF_CELL_QUADS / LF_CELL_QUADS)  // cells of a row that a block measures
#define LF_CHANNELS 6  // Y, Cb, Cr of the patch, then of the frame
#define LF_TOTALS (1 + 2 * LF_CHANNELS)  // samples, their sums, sums of their squares

struct LfMeasure {
    LfView<u8> patch, luma, chroma;
    LfView<float> cells;
    u32* totals;  // LF_TOTALS rows of `blocks` numbers
    int x, y;  // of the patch in the picture
    int firm;  // from this alpha on, in quads, a sample counts
    int across, blocks;
};

// Sums over the four pixels of a quad, in whole numbers: order changes nothing.
struct LfMeasureShared {
    u32 weighted[1 + LF_CHANNELS][LF_LANES];  // alpha, then values, each pixel's times its own alpha
    u32 firm[1 + LF_CHANNELS][LF_LANES];  // whether the sample is firm, then values if so
    u32 partial[LF_TOTALS][8];
};

LF_DEVICE u32 lf_four(u32 a, u32 b, u32 c, u32 d, int channel) {
    const int shift = 8 * channel;
    return (a >> shift & 255) + (b >> shift & 255) + (c >> shift & 255) + (d >> shift & 255);
}

// A channel of four pixels, each weighted by its own alpha.
LF_DEVICE u32 lf_weighted_four(const u32* pixels, int channel) {
    u32 sum = 0;
    for (int i = 0; i < 4; i++) sum += (pixels[i] >> 24) * (pixels[i] >> 8 * channel & 255);
    return sum;
}

// One of the 64 x 4 quads of a block.
LF_DEVICE void lf_measure_quad(const LfMeasure& a, int column, int row, int lane, LfMeasureShared& shared) {
    u32 alpha = 0, values[LF_CHANNELS] = {}, weighted[LF_CHANNELS] = {};
    const int x = a.x + 2 * column, y = a.y + 2 * row;
    const bool seen = 2 * column + 1 < a.patch.width && 2 * row + 1 < a.patch.height && x >= 0 && y >= 0 &&
                      x + 1 < a.luma.width && y + 1 < a.luma.height;
    if (seen) {
        const u8 *upper = a.patch.at(2 * column, 2 * row), *lower = a.patch.at(2 * column, 2 * row + 1);
        const u32 p[4] = {lf_load4(upper), lf_load4(upper + 4), lf_load4(lower), lf_load4(lower + 4)};
        const u8 *above = a.luma.at(x, y), *below = a.luma.at(x, y + 1), *chroma = a.chroma.at(x / 2, y / 2);
        alpha = lf_four(p[0], p[1], p[2], p[3], 3);
        for (int channel = 0; channel < 3; channel++) {
            values[channel] = lf_four(p[0], p[1], p[2], p[3], channel);
            weighted[channel] = lf_weighted_four(p, channel);
        }
        values[3] = u32(above[0]) + above[1] + below[0] + below[1];
        weighted[3] = (p[0] >> 24) * above[0] + (p[1] >> 24) * above[1] + (p[2] >> 24) * below[0] +
                      (p[3] >> 24) * below[1];
        for (int i = 0; i < 2; i++) {
            values[4 + i] = 4 * u32(chroma[i]);
            weighted[4 + i] = alpha * chroma[i];
        }
    }
    const bool firm = int(alpha) >= a.firm;
    shared.weighted[0][lane] = alpha;
    shared.firm[0][lane] = firm;
    for (int channel = 0; channel < LF_CHANNELS; channel++) {
        shared.weighted[1 + channel][lane] = weighted[channel];
        shared.firm[1 + channel][lane] = firm ? values[channel] : 0;
    }
}

// One of the 16 cells of a block, one of its values.
LF_DEVICE void lf_measure_cell(const LfMeasure& a, int column, int row, int cell, int value,
                               const LfMeasureShared& shared) {
    if (column >= a.cells.width || row >= a.cells.height) return;
    u32 sum = 0;
    for (int j = 0; j < LF_CELL_QUADS; j++)
        for (int i = 0; i < LF_CELL_QUADS; i++)
            sum += shared.weighted[value][(j * LF_BLOCK_CELLS + cell) * LF_CELL_QUADS + i];
    a.cells.at(column, row)[value] = float(sum) / 1020.0f;
}

// One total of a block, over an eighth of its quads.
LF_DEVICE u32 lf_measure_total(int total, int eighth, const LfMeasureShared& shared) {
    const u32* values = shared.firm[total <= LF_CHANNELS ? total : total - LF_CHANNELS];
    u32 sum = 0;
    for (int quad = eighth; quad < LF_LANES; quad += 8)
        sum += total <= LF_CHANNELS ? values[quad] : values[quad] * values[quad];
    return sum;
}

LF_DEVICE int colour_cells_phases(const LfMeasure&) { return 3; }

LF_DEVICE void colour_cells_phase(const LfMeasure& a, int x, int y, int, int phase, int lane, LfNothing&,
                                  LfMeasureShared& shared) {
    const int across = LF_BLOCK_CELLS * LF_CELL_QUADS, values = 1 + LF_CHANNELS;
    if (phase == 0) {
        lf_measure_quad(a, x * across + lane % across, y * LF_CELL_QUADS + lane / across, lane, shared);
    } else if (phase == 1) {
        const int cell = lane / values, other = lane - LF_LANES / 2;
        if (cell < LF_BLOCK_CELLS) lf_measure_cell(a, x * LF_BLOCK_CELLS + cell, y, cell, lane % values, shared);
        if (other >= 0 && other < 8 * LF_TOTALS)
            shared.partial[other / 8][other % 8] = lf_measure_total(other / 8, other % 8, shared);
    } else if (lane < LF_TOTALS) {
        u32 sum = 0;
        for (int eighth = 0; eighth < 8; eighth++) sum += shared.partial[lane][eighth];
        a.totals[i64(lane) * a.blocks + y * a.across + x] = sum;
    }
}

struct LfStats {
    const u32* totals;  // as LfMeasure leaves them
    float* stats;  // for Y, Cb, Cr: mean and deviation of the patch, then of the frame
    int blocks, fewest;
    float momentum;
    float jump;  // difference from which an old value is forgotten
};

struct LfStatsShared {
    i64 sums[LF_TOTALS][LF_LANES];
    i64 partial[LF_TOTALS][16];
};

LF_DEVICE i64 lf_whole(const i64* partial) {
    i64 sum = 0;
    for (int i = 0; i < 16; i++) sum += partial[i];
    return sum;
}

// About a whole number near the mean, the sums stay whole and the variance is no small difference of large values.
LF_DEVICE void lf_note(const LfStats& a, int channel, const LfStatsShared& shared) {
    const i64 count = lf_whole(shared.partial[0]), sum = lf_whole(shared.partial[1 + channel]);
    if (count < a.fewest) return;
    const i64 middle = i64(float(sum) / float(count)), rest = sum - middle * count;
    const i64 squares = lf_whole(shared.partial[1 + LF_CHANNELS + channel]) - middle * (sum + rest);
    const float off = float(rest) / float(count), square = float(squares) / float(count);
    const float found[2] = {0.25f * (float(middle) + off), 0.25f * sqrt(fmax(square - off * off, 0.0f))};
    float* stats = a.stats + channel % 3 * 4 + channel / 3 * 2;
    for (int i = 0; i < 2; i++) {
        const float off = stats[i] - found[i], jumps = off / a.jump;
        stats[i] = a.momentum == 0 ? found[i] : found[i] + a.momentum * off / (1 + jumps * jumps);
    }
}

// Sums of a few totals over the blocks of a lane; all at once would take more registers than there are.
LF_DEVICE void lf_add_blocks(const LfStats& a, int first, int lane, LfStatsShared& shared) {
    i64 sums[1 + LF_CHANNELS] = {};
    for (int block = lane; block < a.blocks; block += LF_LANES)
        for (int i = 0; i < 1 + LF_CHANNELS; i++) {
            const int total = first + i;
            if (total < LF_TOTALS) sums[i] += a.totals[i64(total) * a.blocks + block];
        }
    for (int i = 0; i < 1 + LF_CHANNELS; i++)
        if (first + i < LF_TOTALS) shared.sums[first + i][lane] = sums[i];
}

LF_DEVICE int colour_stats_phases(const LfStats&) { return 4; }

LF_DEVICE void colour_stats_phase(const LfStats& a, int, int, int, int phase, int lane, LfNothing&,
                                  LfStatsShared& shared) {
    if (phase < 2) {
        lf_add_blocks(a, phase * (1 + LF_CHANNELS), lane, shared);
    } else if (phase == 2) {
        if (lane >= 16 * LF_TOTALS) return;
        i64 sum = 0;
        for (int i = lane % 16; i < LF_LANES; i += 16) sum += shared.sums[lane / 16][i];
        shared.partial[lane / 16][lane % 16] = sum;
    } else if (lane < LF_CHANNELS) {
        lf_note(a, lane, shared);
    }
}

// What carries a patch's colours onto the frame's.
struct LfMatch {
    float shift, gain;

    LF_DEVICE LfMatch(const float* stats, int channel, float low, float high) {
        const float* s = stats + 4 * channel;
        const float floor = 1e-3f, black = 16;
        const float darker = fmax(stats[2] - black, 1.0f) / fmax(stats[0] - black, 1.0f);
        gain = lf_clamp((s[3] + floor) / (s[1] + floor), low * fmin(darker, 1.0f), high);
        shift = s[2] - gain * s[0];
    }
};
