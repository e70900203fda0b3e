// From what a swap network gives to a patch: a crop in the colours of the frame, then its place in the frame.
#pragma once
#include "half.h"
#include "sample.h"
#include "tensor.h"
#include "yuv.h"

template <class T>
struct LfCropOfTensor {
    LfTensor<T> tensor;  // its `scale` and `mean` are gain and offset
    LfView<u8> mask, crop;
    u32* bad;
    LfRgbToYuv to_yuv;
    LfAxis mask_x, mask_y;  // from the crop to the mask
    int feather, reserved;
};

template <class T>
struct LfLimit {
    const T* limit;
    int step_x, step_y;  // in elements
    u32* bad;
    float least_left;
    int reserved;
    LfView<u8> crop;
};

struct LfPatchOfCrop {
    LfView<u8> crop, patch;
    const u32* bad;
    LfAxis x, y;  // from the patch to the crop
};

struct LfRefinePatch {
    LfView<u8> crop, patch;
    const u32* bad;
    LfAxis x, y;  // from the patch to the crop
    float share;  // of 255
    int reserved;
};

// Neither an infinity nor no number.
LF_DEVICE bool lf_finite(float value) { return value - value == 0.0f; }

template <class T>
LF_DEVICE LfColor lf_take(const LfTensor<T>& a, int x, int y) {
    const T* pixel = a.data + i64(y) * a.step_y + i64(x) * a.step_x;
    return {
        lf_fma(lf_load(pixel + a.at[0]), a.scale[0], a.mean[0]),
        lf_fma(lf_load(pixel + a.at[1]), a.scale[1], a.mean[1]),
        lf_fma(lf_load(pixel + a.at[2]), a.scale[2], a.mean[2]),
    };
}

template <class T>
LF_DEVICE void lf_crop_of_tensor(const LfCropOfTensor<T>& a, int x, int y) {
    LfColor rgb = lf_take(a.tensor, x, y);
    if (!(lf_finite(rgb.r) && lf_finite(rgb.g) && lf_finite(rgb.b))) {
        lf_count(a.bad);
        rgb = {0.0f, 0.0f, 0.0f};
    }
    rgb = {lf_clamp(rgb.r, 0.0f, 255.0f), lf_clamp(rgb.g, 0.0f, 255.0f), lf_clamp(rgb.b, 0.0f, 255.0f)};
    const LfTap across = lf_tap(a.mask_x.at(x, y), int(a.mask_x.bits), a.mask.width);
    const LfTap down = lf_tap(a.mask_y.at(x, y), int(a.mask_y.bits), a.mask.height);
    float alpha = lf_bilinear(a.mask, across, down, 3);
    if (a.feather > 0) {
        const int side = a.crop.width - 1;
        const int left = x < y ? x : y, right = side - (x > y ? x : y);
        alpha *= lf_clamp(float(left < right ? left : right) / float(a.feather), 0.0f, 1.0f);
    }
    u8* out = a.crop.at(x, y);
    out[0] = lf_byte(lf_dot(a.to_yuv.luma, rgb) + a.to_yuv.luma_offset);
    out[1] = lf_byte(lf_dot(a.to_yuv.cb, rgb) + 128.0f);
    out[2] = lf_byte(lf_dot(a.to_yuv.cr, rgb) + 128.0f);
    out[3] = lf_byte(alpha);
}

LF_DEVICE void crop_of_tensor_f32_px(const LfCropOfTensor<float>& a, int x, int y, int) { lf_crop_of_tensor(a, x, y); }
LF_DEVICE void crop_of_tensor_f16_px(const LfCropOfTensor<LfHalf>& a, int x, int y, int) { lf_crop_of_tensor(a, x, y); }

// Sums of alphas, and how many limits are no numbers.
struct LfLeft {
    u64 before, after, unknown;

    LF_DEVICE LfLeft& operator+=(const LfLeft& other) {
        before += other.before;
        after += other.after;
        unknown += other.unknown;
        return *this;
    }
};

template <class T>
LF_DEVICE LfLeft lf_limit_part(const LfLimit<T>& a, int lane) {
    LfLeft sum = {0, 0, 0};
    const int count = a.crop.width * a.crop.height;
    for (int i = lane; i < count; i += LF_LANES) {
        const int x = i % a.crop.width, y = i / a.crop.width;
        float share = lf_load(a.limit + i64(y) * a.step_y + i64(x) * a.step_x);
        const bool unknown = share != share;
        if (unknown) share = 1.0f;
        u8* alpha = a.crop.at(x, y) + 3;
        const u8 left = lf_byte(*alpha * lf_clamp(share, 0.0f, 1.0f));
        sum += {*alpha, left, u64(unknown)};
        *alpha = left;
    }
    return sum;
}

template <class T>
LF_DEVICE void lf_limit_done(const LfLimit<T>& a, const LfLeft& sum) {
    if (sum.unknown || double(sum.after) < double(a.least_left) * double(sum.before)) *a.bad += 1;
}

LF_DEVICE LfLeft limit_alpha_f32_part(const LfLimit<float>& a, int, int, int, int lane) { return lf_limit_part(a, lane); }
LF_DEVICE void limit_alpha_f32_done(const LfLimit<float>& a, int, int, int, const LfLeft& sum) { lf_limit_done(a, sum); }
LF_DEVICE LfLeft limit_alpha_f16_part(const LfLimit<LfHalf>& a, int, int, int, int lane) { return lf_limit_part(a, lane); }
LF_DEVICE void limit_alpha_f16_done(const LfLimit<LfHalf>& a, int, int, int, const LfLeft& sum) { lf_limit_done(a, sum); }

// A pixel of the crop, zero in the ring round it; taps count from the corner of the ring.
LF_DEVICE u32 lf_ringed(const LfView<u8>& crop, int x, int y) {
    if (x < 1 || y < 1 || x > crop.width || y > crop.height) return 0;
    return lf_load4(crop.at(x - 1, y - 1));
}

LF_DEVICE void patch_of_crop_px(const LfPatchOfCrop& a, int x, int y, int) {
    if (*a.bad) return;
    const LfAxis &across = a.x, &down = a.y;
    const LfTap u = lf_tap(across.at(x, y) + (i64(1) << across.bits), int(across.bits), a.crop.width + 2);
    const LfTap v = lf_tap(down.at(x, y) + (i64(1) << down.bits), int(down.bits), a.crop.height + 2);
    const u32 corners[4] = {
        lf_ringed(a.crop, u.low, v.low),
        lf_ringed(a.crop, u.high, v.low),
        lf_ringed(a.crop, u.low, v.high),
        lf_ringed(a.crop, u.high, v.high),
    };
    u32 mixed = 0;
    for (int c = 0; c < 4; c++) {
        const int shift = 8 * c;
        const float upper = lf_mix(float(corners[0] >> shift & 255), float(corners[1] >> shift & 255), u.part);
        const float lower = lf_mix(float(corners[2] >> shift & 255), float(corners[3] >> shift & 255), u.part);
        mixed |= u32(lf_byte(lf_mix(upper, lower, v.part))) << shift;
    }
    lf_store4(a.patch.at(x, y), mixed);
}

LF_DEVICE void refine_patch_px(const LfRefinePatch& a, int x, int y, int) {
    if (*a.bad) return;
    const LfTap u = lf_tap(a.x.at(x, y), int(a.x.bits), a.crop.width);
    const LfTap v = lf_tap(a.y.at(x, y), int(a.y.bits), a.crop.height);
    const float way = a.share * lf_bilinear(a.crop, u, v, 3);
    u8* out = a.patch.at(x, y);
    for (int c = 0; c < 3; c++) out[c] = lf_byte(lf_mix(float(out[c]), lf_bilinear(a.crop, u, v, c), way));
}
