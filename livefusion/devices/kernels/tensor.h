// A picture as a network takes it: normalised, in the layout and channel order of the network.
#pragma once
#include "half.h"
#include "yuv.h"

// Steps count elements. `at`, `mean` and `scale` belong to R, G, B, wherever the order of the network puts them.
template <class T>
struct LfTensor {
    T* data;
    i64 step_z;
    int step_x, step_y, at[3];
    float mean[3], scale[3];

    LF_DEVICE void put(int x, int y, int z, const LfColor& color) const {
        T* pixel = data + z * step_z + i64(y) * step_y + x * step_x;
        lf_store(pixel + at[0], (color.r - mean[0]) * scale[0]);
        lf_store(pixel + at[1], (color.g - mean[1]) * scale[1]);
        lf_store(pixel + at[2], (color.b - mean[2]) * scale[2]);
    }
};
