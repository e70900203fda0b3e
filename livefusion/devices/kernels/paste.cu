#include "paste.h"

LF_PIXELS(blend_yuva, LfBlend)
