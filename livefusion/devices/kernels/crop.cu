#include "crop.h"

LF_PIXELS(crop_of_tensor_f32, LfCropOfTensor<float>)
LF_PIXELS(crop_of_tensor_f16, LfCropOfTensor<LfHalf>)
LF_SUMS(limit_alpha_f32, LfLimit<float>, LfLeft)
LF_SUMS(limit_alpha_f16, LfLimit<LfHalf>, LfLeft)
LF_PIXELS(patch_of_crop, LfPatchOfCrop)
LF_PIXELS(refine_patch, LfRefinePatch)
