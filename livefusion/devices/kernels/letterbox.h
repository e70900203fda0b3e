// Shrink a whole picture into the top-left of a tensor: one item for each pixel of the tensor.
#pragma once
#include "resize.h"
#include "tensor.h"

struct LfLetterbox {
    LfView<u8> luma, chroma;  // the rows to be read alone
    LfYuvToRgb to_rgb;
    int width, height;  // of the part that the picture fills
    LfTensor<float> out;
};

LF_DEVICE void letterbox_nv12_px(const LfLetterbox& a, int x, int y, int) {
    LfColor color = {0.0f, 0.0f, 0.0f};
    if (x < a.width && y < a.height) {
        const float light =
            lf_mean<1>(a.luma, lf_span(a.luma.width, a.width, x), lf_span(a.luma.height, a.height, y), 0);
        const LfSpan across = lf_span(a.chroma.width, a.width, x), down = lf_span(a.chroma.height, a.height, y);
        const float cb = lf_mean<2>(a.chroma, across, down, 0) - 128.0f;
        const float cr = lf_mean<2>(a.chroma, across, down, 1) - 128.0f;
        color = a.to_rgb(light, cb, cr);
    }
    a.out.put(x, y, 0, color);
}
