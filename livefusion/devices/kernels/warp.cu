#include "warp.h"

LF_PIXELS(nv12_warp_norm_f32, LfWarp<float>)
LF_PIXELS(nv12_warp_norm_f16, LfWarp<LfHalf>)
