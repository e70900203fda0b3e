#include "letterbox.h"

LF_PIXELS(letterbox_nv12, LfLetterbox)
