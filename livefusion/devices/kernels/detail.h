// Compare sharpness and noise of a patch with those of the frame below it, and make it as soft.
#pragma once
#include "lf.h"

#define LF_REACH 4  // pixels right and below that a sample looks at
#define LF_BINS 64  // of a histogram of residuals
#define LF_SUMS_OF_DETAIL 5  // squared differences 1, 2 and 4 apart, values, their squares
#define LF_DETAILS (1 + 2 * LF_SUMS_OF_DETAIL)  // samples, then sums of the frame and of the patch

struct LfDetail {
    LfView<u8> patch, luma;
    LfView<float> detail;
    int x, y;  // of the patch in the frame
    int step, firm, fewest;
    float momentum, noise_momentum;
    float quantile, quantile_of_normal, least_contrast, most_contrast, softest, sure;
};

// Whole numbers: order changes nothing.
struct LfDetailShared {
    i64 sums[LF_DETAILS][LF_LANES];
    i64 totals[LF_DETAILS];
    u32 counts[2][2][LF_BINS];  // of the frame and of the patch: fine, coarse
};

// One channel of a picture from a pixel on.
struct LfCorner {
    const u8* data;
    i64 pitch;
    int stride;

    LF_DEVICE LfCorner(const LfView<u8>& view, int x, int y)
        : data(view.at(x, y)), pitch(view.pitch), stride(view.channels) {}
    LF_DEVICE int at(int down, int across) const { return data[down * pitch + across * stride]; }
    LF_DEVICE int four(int down, int across) const {
        return at(down, across) + at(down, across + 1) + at(down + 1, across) + at(down + 1, across + 1);
    }
};

LF_DEVICE int lf_distance(int value) { return value < 0 ? -value : value; }

LF_DEVICE bool lf_is_firm(const LfDetail& a, int column, int row) {
    const int x = a.x + column, y = a.y + row;
    if (x < 0 || y < 0 || x + LF_REACH >= a.luma.width || y + LF_REACH >= a.luma.height) return false;
    return a.patch.at(column, row)[3] >= a.firm && a.patch.at(column + LF_REACH, row)[3] >= a.firm &&
           a.patch.at(column, row + LF_REACH)[3] >= a.firm &&
           a.patch.at(column + LF_REACH, row + LF_REACH)[3] >= a.firm &&
           a.patch.at(column + LF_REACH / 2, row + LF_REACH / 2)[3] >= a.firm;
}

LF_DEVICE void lf_look(const LfCorner& p, i64* sums, u32 counts[2][LF_BINS]) {
    const int first = p.at(0, 0);
    for (int i = 0; i < 3; i++) {
        const int across = p.at(0, 1 << i) - first, down = p.at(1 << i, 0) - first;
        sums[i] += across * across + down * down;
    }
    sums[3] += first;
    sums[4] += first * first;
    const int fine = lf_distance(first - p.at(0, 1) - p.at(1, 0) + p.at(1, 1));
    const int coarse = (lf_distance(p.four(0, 0) - p.four(0, 2) - p.four(2, 0) + p.four(2, 2)) + 1) / 2;
    lf_count(&counts[0][fine < LF_BINS ? fine : LF_BINS - 1]);
    lf_count(&counts[1][coarse < LF_BINS ? coarse : LF_BINS - 1]);
}

// Samples along a side of the patch.
LF_DEVICE int lf_samples(int size, int step) { return size > LF_REACH ? (size - LF_REACH + step - 1) / step : 0; }

LF_DEVICE void lf_look_at_samples(const LfDetail& a, int lane, LfDetailShared& shared) {
    const int across = lf_samples(a.patch.width, a.step), down = lf_samples(a.patch.height, a.step);
    i64 count = 0, sums[2][LF_SUMS_OF_DETAIL] = {};
    for (int i = lane; i < across * down; i += LF_LANES) {
        const int column = i % across * a.step, row = i / across * a.step;
        if (!lf_is_firm(a, column, row)) continue;
        lf_look(LfCorner(a.luma, a.x + column, a.y + row), sums[0], shared.counts[0]);
        lf_look(LfCorner(a.patch, column, row), sums[1], shared.counts[1]);
        count++;
    }
    shared.sums[0][lane] = count;
    for (int of = 0; of < 2; of++)
        for (int i = 0; i < LF_SUMS_OF_DETAIL; i++) shared.sums[1 + of * LF_SUMS_OF_DETAIL + i][lane] = sums[of][i];
}

// The variance of the noise behind residuals that have twice its deviation.
LF_DEVICE float lf_noise_variance(const LfDetail& a, const u32* counts, float samples) {
    const float wanted = a.quantile * samples;
    float below = 0;
    for (int level = 0; level < LF_BINS; level++) {
        const float count = float(counts[level]);
        if (below + count >= wanted && count > 0) {
            const float low = fmax(0.0f, level - 0.5f);
            const float middle = low + (level + 0.5f - low) * (wanted - below) / count;
            const float deviation = middle / (2 * a.quantile_of_normal);
            return deviation * deviation;
        }
        below += count;
    }
    return 0;
}

LF_DEVICE void lf_mix(float* old, float found, float momentum) {
    *old = momentum == 0 ? found : momentum * *old + (1 - momentum) * found;
}

// How much is fine, and the squared width of the edges.
struct LfEdges {
    float fine, width;

    LF_DEVICE explicit LfEdges(const float* row) {
        const float clear = 0.5f;
        fine = fmax(row[1] - row[0], 0.0f) + 0.25f * clear;
        const float broad = fmax(row[2] - row[1], 0.0f) + clear;
        const float steep = 1 / lf_clamp(fine / broad - 0.25f, 0.004f, 0.25f) - 4;
        width = 0.172f * steep + 0.27f * steep / (steep + 0.3f);
    }
};

LF_DEVICE void lf_note_missing(const LfDetail& a) {
    const float *frame = a.detail.at(0, 0), *patch = a.detail.at(0, 1), flat = 1e-6f;
    const LfEdges of_frame(frame), of_patch(patch);
    const float contrast = lf_clamp((frame[3] + flat) / (patch[3] + flat), a.least_contrast, a.most_contrast);
    const float weaker = contrast * of_patch.fine / of_frame.fine;
    const float faded = fmax(0.0f, (weaker * weaker - 1) * (0.8f + of_patch.width));
    const float wider = fmax(0.0f, of_frame.width - of_patch.width);
    const float blur = fmin(sqrt(wider * fmin(wider, faded)), a.softest * a.softest);
    const float share = of_frame.fine / of_patch.fine;
    const float fine = fmax(0.0f, frame[4] - share * patch[4]);
    const float excess = fmax(0.0f, frame[5] - share * patch[5]) - a.sure * fine;
    const float coarse = fmin(fmax(0.0f, excess / 1.25f), fine);
    float* missing = a.detail.at(0, 2);
    missing[0] = sqrt(blur);
    missing[1] = sqrt(fine - 0.111f * coarse);
    missing[2] = sqrt(coarse);
    for (int i = 3; i < 6; i++) missing[i] = 0;
}

LF_DEVICE void lf_note_detail(const LfDetail& a, const LfDetailShared& shared) {
    if (shared.totals[0] < a.fewest) return;
    const float count = float(shared.totals[0]);
    for (int of = 0; of < 2; of++) {
        const i64* sums = shared.totals + 1 + of * LF_SUMS_OF_DETAIL;
        float* row = a.detail.at(0, of);
        for (int i = 0; i < 3; i++) lf_mix(row + i, float(sums[i]) / (2 * count), a.momentum);
        // About a whole number near the mean, the variance is no small difference of large values.
        const i64 middle = sums[3] / shared.totals[0], rest = sums[3] - middle * shared.totals[0];
        const i64 squares = sums[4] - middle * (sums[3] + rest);
        const float off = float(rest) / count;
        lf_mix(row + 3, fmax(float(squares) / count - off * off, 0.0f), a.momentum);
        for (int i = 0; i < 2; i++)
            lf_mix(row + 4 + i, lf_noise_variance(a, shared.counts[of][i], count), a.noise_momentum);
    }
    lf_note_missing(a);
}

LF_DEVICE int measure_detail_phases(const LfDetail&) { return 4; }

LF_DEVICE void measure_detail_phase(const LfDetail& a, int, int, int, int phase, int lane, LfNothing&,
                                    LfDetailShared& shared) {
    if (phase == 0) {
        for (int i = lane; i < 4 * LF_BINS; i += LF_LANES)
            shared.counts[i / (2 * LF_BINS)][i / LF_BINS % 2][i % LF_BINS] = 0;
    } else if (phase == 1) {
        lf_look_at_samples(a, lane, shared);
    } else if (phase == 2 && lane < LF_DETAILS) {
        i64 sum = 0;
        for (int i = 0; i < LF_LANES; i++) sum += shared.sums[lane][i];
        shared.totals[lane] = sum;
    } else if (phase == 3 && lane == 0) {
        lf_note_detail(a, shared);
    }
}

#define LF_KERNELS 64
#define LF_TAPS 8

struct LfSoften {
    LfView<u8> patch;
    u32* between;  // the blurred rows, without gaps
    const float* softness;
    float softest;
    u16 kernels[LF_KERNELS][LF_TAPS];  // of 256: the middle, then its neighbours 1 to 7 away
};

// The kernel for what the patch lacks of blur; 0 changes nothing.
LF_DEVICE int lf_kernel_index(const LfSoften& a) {
    return int(lf_clamp(*a.softness, 0.0f, a.softest) * ((LF_KERNELS - 1) / a.softest) + 0.5f);
}

// Two channels side by side in each word, the first and third and the second and fourth, times their shares.
struct LfBlurred {
    u32 even, odd, middle;

    LF_DEVICE LfBlurred(u32 pixel, u32 share) : even(0), odd(0), middle(pixel) { add(pixel, share); }
    LF_DEVICE void add(u32 pixel, u32 share) {
        const u32 value = pixel >> 24 ? pixel : middle;
        even += (value & 0x00ff00ff) * share;
        odd += (value >> 8 & 0x00ff00ff) * share;
    }
    LF_DEVICE u32 rounded() const {
        const u32 half = 0x00800080;
        return ((even + half) >> 8 & 0x00ff00ff) | ((odd + half) & 0x0000ff00) | (middle & 0xff000000);
    }
};

LF_DEVICE void soften_rows_px(const LfSoften& a, int x, int y, int) {
    const int index = lf_kernel_index(a);
    if (index == 0) return;
    const u16* kernel = a.kernels[index];
    LfBlurred sum(lf_load4(a.patch.at(x, y)), kernel[0]);
    for (int i = 1; i < LF_TAPS && kernel[i] > 0; i++) {
        sum.add(x >= i ? lf_load4(a.patch.at(x - i, y)) : sum.middle, kernel[i]);
        sum.add(x + i < a.patch.width ? lf_load4(a.patch.at(x + i, y)) : sum.middle, kernel[i]);
    }
    a.between[i64(y) * a.patch.width + x] = sum.rounded();
}

LF_DEVICE void soften_columns_px(const LfSoften& a, int x, int y, int) {
    const int index = lf_kernel_index(a), width = a.patch.width;
    if (index == 0) return;
    const u16* kernel = a.kernels[index];
    const u32* here = a.between + i64(y) * width + x;
    LfBlurred sum(*here, kernel[0]);
    for (int i = 1; i < LF_TAPS && kernel[i] > 0; i++) {
        sum.add(y >= i ? here[-i64(i) * width] : sum.middle, kernel[i]);
        sum.add(y + i < a.patch.height ? here[i64(i) * width] : sum.middle, kernel[i]);
    }
    lf_store4(a.patch.at(x, y), sum.rounded());
}
