// Grain: noise from a hash of place and time, the same on every device and in every replay.
#pragma once
#include "lf.h"

struct LfGrain {
    float amount;  // of what is missing
    float deviation, spread, chroma_deviation, chroma_share;
    u32 seed;
};

// The finaliser of MurmurHash3 (Austin Appleby, public domain).
LF_DEVICE u32 lf_random(int x, int y, u32 seed) {
    u32 word = u32(x) * 0x9e3779b1u ^ (u32(y) * 0x85ebca77u + seed);
    word = (word ^ word >> 16) * 0x85ebca6bu;
    word = (word ^ word >> 13) * 0xc2b2ae35u;
    return word ^ word >> 16;
}

// Sums of the first and second, and of the third and fourth byte.
LF_DEVICE u32 lf_byte_pairs(u32 word) {
    return (word & 0x00ff00ffu) + (word >> 8 & 0x00ff00ffu);
}

LF_DEVICE int lf_white(int x, int y, u32 seed) {
    const u32 pairs = lf_byte_pairs(lf_random(x, y, seed));
    return int(pairs & 0xffff) + int(pairs >> 16) - 510;
}

// The grain of a square of 2x2 pixels; they share that of their chroma.
struct LfQuadGrain {
    float luma[4], chroma[2];

    LF_DEVICE LfQuadGrain(const LfGrain& a, const float* missing, int x, int y) {
        const float white = a.amount * missing[1] / a.deviation;
        const float coarse = a.amount * missing[2] / (a.spread * a.deviation);
        for (int k = 0; k < 4; k++) luma[k] = 0;
        chroma[0] = chroma[1] = 0;
        if (!(white + coarse > 0)) return;
        const float both = sqrt(missing[1] * missing[1] + missing[2] * missing[2]);
        const float colour = a.amount * a.chroma_share * both / a.chroma_deviation;
        const u32 pairs = lf_byte_pairs(lf_random(x / 2, y / 2, a.seed ^ 0x5bd1e995u));
        chroma[0] = colour * (int(pairs & 0xffff) - 255);
        chroma[1] = colour * (int(pairs >> 16) - 255);
        if (coarse > 0) spread(x, y, a.seed, white, coarse);
        else
            for (int k = 0; k < 4; k++) luma[k] = white * lf_white(x + k % 2, y + k / 2, a.seed);
    }

    LF_DEVICE void spread(int x, int y, u32 seed, float white, float coarse) {
        int sums[4] = {}, middles[4] = {};
        for (int j = -1; j < 3; j++)
            for (int i = -1; i < 3; i++) {
                const int value = lf_white(x + i, y + j, seed);
                for (int k = 0; k < 4; k++) {
                    const int across = lf_away(i - k % 2), down = lf_away(j - k / 2);
                    if (across < 2 && down < 2) sums[k] += (2 - across) * (2 - down) * value;
                    if (across == 0 && down == 0) middles[k] = value;
                }
            }
        for (int k = 0; k < 4; k++) luma[k] = white * middles[k] + coarse * sums[k];
    }

    LF_DEVICE static int lf_away(int steps) { return steps < 0 ? -steps : steps; }

    LF_DEVICE float at(int channel, int k) const { return channel == 0 ? luma[k] : chroma[channel - 1]; }
};
