#include "blur.h"

LF_SUMS(blur_means, LfBlur, LfTwoSums)
LF_PIXELS(blur_veil, LfBlur)
