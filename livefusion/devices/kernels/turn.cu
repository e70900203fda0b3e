#include "turn.h"

LF_PIXELS(turn_nv12, LfTurn)
