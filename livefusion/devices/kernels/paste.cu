#include "paste.h"

LF_PIXELS(blend_yuva, LfBlend)
LF_PIXELS(blend_matched, LfBlendMatched)
