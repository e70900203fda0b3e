#include "colour.h"

LF_TEAM(colour_cells, LfMeasure, LfNothing, LfMeasureShared)
LF_TEAM(colour_stats, LfStats, LfNothing, LfStatsShared)
LF_TEAM(light_rows, LfLight, LfNothing, LfLightShared)
LF_TEAM(light_columns, LfLight, LfNothing, LfLightShared)
