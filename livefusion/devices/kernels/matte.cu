#include "matte.h"

LF_PIXELS(occlusion_matte, LfOcclusionMatte)
LF_PIXELS(bare_of_tensor_f32, LfBare<float>)
LF_PIXELS(bare_of_tensor_f16, LfBare<LfHalf>)
