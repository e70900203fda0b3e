#include "scale.h"

LF_PIXELS(scale_nv12, LfScale)
