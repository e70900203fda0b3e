// All kernels in one module: compiled once, loaded once.
#include "convert.cu"
#include "letterbox.cu"
#include "paste.cu"
#include "scale.cu"
#include "turn.cu"
#include "warp.cu"
