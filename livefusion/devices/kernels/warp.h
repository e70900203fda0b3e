// Sample NV12 through an affine map a face and normalise: one item for each pixel x, y of the tensor of face z.
#pragma once
#include "sample.h"
#include "tensor.h"

#define LF_FACES 8

template <class T>
struct LfWarp {
    LfView<u8> luma, chroma;
    LfYuvToRgb to_rgb;
    int origin_x, origin_y;  // of the first chroma sample, in half luma pixels
    struct {
        LfAxis x, y;
    } maps[LF_FACES];  // from the tensor to the luma
    LfTensor<T> out;
};

// Where a chroma sample lies: its pixels are twice as large, so the fraction has one bit more.
LF_DEVICE LfTap lf_chroma_tap(i64 position, int bits, int origin, int size) {
    return lf_tap(position - (i64(origin) << (bits - 1)), bits + 1, size);
}

template <class T>
LF_DEVICE void lf_warp(const LfWarp<T>& a, int column, int row, int face) {
    const LfAxis &across = a.maps[face].x, &down = a.maps[face].y;
    const i64 x = across.at(column, row), y = down.at(column, row);
    const int bits_x = int(across.bits), bits_y = int(down.bits);

    const LfTap luma_x = lf_tap(x, bits_x, a.luma.width), luma_y = lf_tap(y, bits_y, a.luma.height);
    const LfTap chroma_x = lf_chroma_tap(x, bits_x, a.origin_x, a.chroma.width);
    const LfTap chroma_y = lf_chroma_tap(y, bits_y, a.origin_y, a.chroma.height);
    const float light = lf_bilinear(a.luma, luma_x, luma_y, 0);
    const float cb = lf_bilinear(a.chroma, chroma_x, chroma_y, 0) - 128.0f;
    const float cr = lf_bilinear(a.chroma, chroma_x, chroma_y, 1) - 128.0f;
    a.out.put(column, row, face, a.to_rgb(light, cb, cr));
}

LF_DEVICE void nv12_warp_norm_f32_px(const LfWarp<float>& a, int x, int y, int z) { lf_warp(a, x, y, z); }
LF_DEVICE void nv12_warp_norm_f16_px(const LfWarp<LfHalf>& a, int x, int y, int z) { lf_warp(a, x, y, z); }
