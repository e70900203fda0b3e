// What is in front of a face: believed in the crop of a network, and cut out of a patch.
#pragma once
#include "sample.h"

struct LfOcclusionTrack {
    LfView<float> found, belief;
    LfView<u8> cover, patch;
    float* share;
    LfAxis x, y;  // from the crop to the patch
    float rise, fall, band;
    int none, all;  // levels of the cover between which more and more is hidden
    u8 outline[3 * 256];  // for each row, the row and the first and last column in which is looked
};

struct LfOcclude {
    LfView<u8> cover, patch;
    const float* share;
    LfAxis x, y;  // from the patch to the crop
    float most, doubted;
    int none, all;
};

// Alpha, and alpha times what is hidden, in levels. Whole numbers: order changes nothing.
struct LfCovered {
    u64 whole, covered;

    LF_DEVICE LfCovered& operator+=(const LfCovered& other) {
        whole += other.whole;
        covered += other.covered;
        return *this;
    }
};

// One pixel of the crop: moves its belief, and gives its level of cover.
LF_DEVICE int lf_believe(const LfOcclusionTrack& a, int x, int y) {
    const u8* face = a.outline + 3 * y;
    const float found = *a.found.at(lf_clamp(x, int(face[1]), int(face[2])), face[0]);
    const float now = found > 0.0f ? fmin(found, 1.0f) : 0.0f;  // also where it is no number
    float* belief = a.belief.at(x, y);
    const float target = fmin(fmax(*belief, now - a.band), now + a.band);
    *belief += (target - *belief) * (target > *belief ? a.rise : a.fall);
    const u8 level = lf_byte(255.0f * *belief);
    *a.cover.at(x, y) = level;
    return level;
}

// The whole pixel nearest to a position of an axis.
LF_DEVICE i64 lf_nearest(const LfAxis& axis, int x, int y) {
    return (axis.at(x, y) + (i64(1) << (axis.bits - 1))) >> axis.bits;
}

LF_DEVICE LfCovered occlusion_track_part(const LfOcclusionTrack& a, int, int, int, int lane) {
    LfCovered sum = {0, 0};
    const int count = a.cover.width * a.cover.height;
    for (int i = lane; i < count; i += LF_LANES) {
        const int x = i % a.cover.width, y = i / a.cover.width;
        const int level = lf_believe(a, x, y);
        const i64 column = lf_nearest(a.x, x, y), row = lf_nearest(a.y, x, y);
        if (column < 0 || row < 0 || column >= a.patch.width || row >= a.patch.height) continue;
        const u64 alpha = a.patch.at(int(column), int(row))[3];
        sum += {alpha, alpha * u64(lf_clamp(level - a.none, 0, a.all - a.none))};
    }
    return sum;
}

LF_DEVICE void occlusion_track_done(const LfOcclusionTrack& a, int, int, int, const LfCovered& sum) {
    *a.share = sum.whole ? float(sum.covered) / (float(a.all - a.none) * float(sum.whole)) : 0.0f;
}

LF_DEVICE void occlude_px(const LfOcclude& a, int x, int y, int) {
    const float share = *a.share;
    const float trust = lf_clamp((a.doubted - share / a.most) / (a.doubted - 1.0f), 0.0f, 1.0f);
    if (share == 0.0f || trust == 0.0f) return;
    u8* alpha = a.patch.at(x, y) + 3;
    if (*alpha == 0) return;
    const LfTap across = lf_tap(a.x.at(x, y), int(a.x.bits), a.cover.width);
    const LfTap down = lf_tap(a.y.at(x, y), int(a.y.bits), a.cover.height);
    const float level = lf_bilinear(a.cover, across, down, 0);
    const float hidden = lf_clamp((level - a.none) / (a.all - a.none), 0.0f, 1.0f);
    *alpha = lf_byte(*alpha * (1.0f - trust * hidden));
}
