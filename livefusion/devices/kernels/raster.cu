#include "raster.h"

LF_TEAM(raster_uv, LfRaster, LfTilePixel, LfTileShared)
LF_PIXELS(sample_uv, LfSample)
