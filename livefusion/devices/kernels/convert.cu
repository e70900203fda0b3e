#include "convert.h"

LF_PIXELS(nv12_to_rgb, LfToRgb)
LF_PIXELS(rgb_to_nv12, LfFromRgb)
