#include "matte.h"

LF_PIXELS(occlusion_matte, LfOcclusionMatte)
