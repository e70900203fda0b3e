// Where what a network found in front of a face ends: told by the colours on both sides of the edge.
#pragma once
#include "half.h"
#include "sample.h"

struct LfOcclusionMatte {
    LfView<float> found, matte;
    const float* image;  // three planes of `step` values, rows of `pitch` values
    int step, pitch, radius;
    float least_weight, noise, least_doubt, tiny;

    LF_DEVICE float colour(int channel, int x, int y) const { return image[channel * step + y * pitch + x]; }

    // What is found, 0 where it is no number.
    LF_DEVICE float share(int x, int y) const {
        const float value = *found.at(x, y);
        return value > 0.0f ? fmin(value, 1.0f) : 0.0f;
    }
};

// Weight and colour of what is in front, and of the face, over the square round a pixel.
struct LfSides {
    float front, face, ahead[3], behind[3];
};

LF_DEVICE LfSides lf_sides(const LfOcclusionMatte& a, int x, int y) {
    LfSides sum = {0, 0, {0, 0, 0}, {0, 0, 0}};
    const int left = x > a.radius ? x - a.radius : 0, top = y > a.radius ? y - a.radius : 0;
    const int right = x + a.radius < a.found.width ? x + a.radius : a.found.width - 1;
    const int bottom = y + a.radius < a.found.height ? y + a.radius : a.found.height - 1;
    for (int row = top; row <= bottom; row++) {
        // Unrolled it would need more registers than there are.
#if LF_GPU
#pragma unroll 1
#endif
        for (int column = left; column <= right; column++) {
            const float p = a.share(column, row), front = p * p, face = (1.0f - p) * (1.0f - p);
            sum.front += front;
            sum.face += face;
            for (int i = 0; i < 3; i++) {
                const float colour = a.colour(i, column, row);
                sum.ahead[i] += front * colour;
                sum.behind[i] += face * colour;
            }
        }
    }
    return sum;
}

LF_DEVICE void occlusion_matte_px(const LfOcclusionMatte& a, int x, int y, int) {
    const float p = a.share(x, y), doubt = (4.0f * p * (1.0f - p) - a.least_doubt) / (1.0f - a.least_doubt);
    float* matte = a.matte.at(x, y);
    *matte = p;
    if (doubt <= 0.0f) return;
    const LfSides sum = lf_sides(a, x, y);
    float squares = 0, product = 0;
    for (int i = 0; i < 3; i++) {
        const float behind = sum.behind[i] / (sum.face + a.tiny);
        const float way = sum.ahead[i] / (sum.front + a.tiny) - behind;
        squares += way * way;
        product += (a.colour(i, x, y) - behind) * way;
    }
    const float along = lf_clamp(product / (squares + 1e-6f), 0.0f, 1.0f);
    const float enough = fmin(fmin(sum.front, sum.face) / a.least_weight, 1.0f);
    *matte = p + (along - p) * doubt * enough * squares / (squares + a.noise);
}

template <class T>
struct LfBare {
    const T* tensor;  // maps of `step` values, rows of `pitch` values
    int step, pitch, depth, width, height;
    u32 classes;
    LfAxis x, y;  // from the matte to the tensor
    float low, gain;
    LfView<float> matte;

    LF_DEVICE float value(int map, int x, int y) const {
        return lf_load(tensor + i64(map) * step + i64(y) * pitch + x);
    }

    // How bare the face is at one pixel; of a single map before `low` and `gain`.
    LF_DEVICE float at(int x, int y) const {
        if (depth == 1) return value(0, x, y);
        int best = 0;
        float most = value(0, x, y);
        bool known = most == most;
        // Unrolled it would need more registers than there are.
#if LF_GPU
#pragma unroll 1
#endif
        for (int i = 1; i < depth; i++) {
            const float other = value(i, x, y);
            known = known && other == other;
            if (other > most) most = other, best = i;
        }
        return known ? float(classes >> best & 1) : 1.0f;
    }
};

template <class T>
LF_DEVICE void lf_bare_of_tensor(const LfBare<T>& a, int x, int y) {
    const LfTap u = lf_tap(a.x.at(x, y), int(a.x.bits), a.width);
    const LfTap v = lf_tap(a.y.at(x, y), int(a.y.bits), a.height);
    const float upper = lf_mix(a.at(u.low, v.low), a.at(u.high, v.low), u.part);
    const float lower = lf_mix(a.at(u.low, v.high), a.at(u.high, v.high), u.part);
    float bare = lf_mix(upper, lower, v.part);
    if (a.depth == 1) bare = (bare - a.low) * a.gain;
    const float hidden = bare == bare ? 1.0f - lf_clamp(bare, 0.0f, 1.0f) : 0.0f;
    float* matte = a.matte.at(x, y);
    *matte = fmax(*matte, hidden);
}

LF_DEVICE void bare_of_tensor_f32_px(const LfBare<float>& a, int x, int y, int) { lf_bare_of_tensor(a, x, y); }
LF_DEVICE void bare_of_tensor_f16_px(const LfBare<LfHalf>& a, int x, int y, int) { lf_bare_of_tensor(a, x, y); }
