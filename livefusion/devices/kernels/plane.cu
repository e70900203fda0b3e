#include "plane.h"

LF_PIXELS(fill_region, LfFill)
LF_PIXELS(add_plane, LfAdd)
