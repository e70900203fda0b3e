#include "light.h"

LF_TEAM(light_rows, LfLight, LfNothing, LfLightShared)
LF_TEAM(light_columns, LfLight, LfNothing, LfLightShared)
