#include "feather.h"

LF_PIXELS(mask_feather_rows, LfFeather)
LF_PIXELS(mask_feather, LfFeather)
