#include "texels.h"

LF_PIXELS(mix_texels, LfMix)
