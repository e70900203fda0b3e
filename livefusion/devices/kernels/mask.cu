#include "mask.h"

LF_PIXELS(scale_alpha, LfScaleAlpha)
