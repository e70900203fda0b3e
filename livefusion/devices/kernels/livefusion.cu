// All kernels in one module: compiled once, loaded once.
#include "paste.cu"
