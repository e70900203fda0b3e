// All kernels in one module: compiled once, loaded once.
#include "convert.cu"
#include "feather.cu"
#include "letterbox.cu"
#include "paste.cu"
#include "raster.cu"
#include "scale.cu"
#include "turn.cu"
#include "warp.cu"
