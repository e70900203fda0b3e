#include "raster.h"

LF_TEAM(draw_mesh, LfDraw, LfTilePixel, LfTileShared)
