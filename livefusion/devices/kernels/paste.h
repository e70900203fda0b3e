// Blend a Y, Cb, Cr, A patch into NV12, in place: one item for each 2x2 pixels, whose chroma sample they share.
#pragma once
#include "colour.h"
#include "grain.h"

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

// The same for a patch whose colours are matched on the way.
struct LfBlendMatched {
    LfBlend blend;
    LfView<float> light;
    const float *stats, *missing;
    float strength, lowest_gain, highest_gain;
    LfGrain grain;
    u8 alphas[256];  // what each alpha of the patch becomes
};

// The cell whose middle lies before a pixel, the next one, and the share of that.
struct LfBetween {
    int first, second;
    float share;

    LF_DEVICE LfBetween(int pixel, int cells) {
        const float side = 2 * LF_CELL_QUADS;
        const float place = lf_clamp((pixel - (side - 1) / 2) / side, 0.0f, float(cells - 1));
        first = int(place);
        second = first + 1 < cells ? first + 1 : first;
        share = place - first;
    }
};

// One channel of the light in a square of 2x2 pixels. Middles of cells lie between such squares, so its pixels have
// the same four cells round them.
struct LfQuadLight {
    const float *l00, *l01, *l10, *l11;
    float across[2], down[2];

    LF_DEVICE LfQuadLight(const LfView<float>& light, int x, int y) {
        const LfBetween left(x, light.width), right(x + 1, light.width);
        const LfBetween upper(y, light.height), lower(y + 1, light.height);
        l00 = light.at(left.first, upper.first), l01 = light.at(left.second, upper.first);
        l10 = light.at(left.first, upper.second), l11 = light.at(left.second, upper.second);
        across[0] = left.share, across[1] = right.share;
        down[0] = upper.share, down[1] = lower.share;
    }

    LF_DEVICE float at(int channel, int i, int j) const {
        const float above = l00[channel] + (l01[channel] - l00[channel]) * across[i];
        const float below = l10[channel] + (l11[channel] - l10[channel]) * across[i];
        return above + (below - above) * down[j];
    }
};

LF_DEVICE void blend_matched_px(const LfBlendMatched& a, int across, int down, int) {
    const LfBlend& b = a.blend;
    const int column = b.left + 2 * across, row = b.top + 2 * down;
    const u8 *upper = b.patch.at(column, row), *lower = b.patch.at(column, row + 1);
    const u32 pixels[4] = {lf_load4(upper), lf_load4(upper + 4), lf_load4(lower), lf_load4(lower + 4)};
    int alphas[4], weight = 0;
    for (int k = 0; k < 4; k++) weight += alphas[k] = a.alphas[pixels[k] >> 24];
    if (weight == 0) return;
    const LfQuadLight light(a.light, column, row);
    u8* chroma = b.chroma.at((b.x + column) / 2, (b.y + row) / 2);
    const LfQuadGrain grain(a.grain, a.missing, b.x + column, b.y + row);
    for (int channel = 0; channel < 3; channel++) {
        const LfMatch match(a.stats, channel, a.lowest_gain, a.highest_gain);
        int sum = 0;
        for (int k = 0; k < 4; k++) {
            const float level = float(pixels[k] >> 8 * channel & 255);
            const float added = match.shift + a.strength * light.at(channel, k % 2, k / 2) + grain.at(channel, k);
            const int value = lf_byte(level * match.gain + added), alpha = alphas[k];
            sum += alpha * value;
            if (channel > 0) continue;
            u8* luma = b.luma.at(b.x + column + k % 2, b.y + row + k / 2);
            *luma = u8((*luma * (255 - alpha) + value * alpha + 127) / 255);
        }
        if (channel > 0) chroma[channel - 1] = u8((chroma[channel - 1] * (1020 - weight) + sum + 510) / 1020);
    }
}
