#include "colour.h"

LF_TEAM(colour_cells, LfMeasure, LfNothing, LfMeasureShared)
LF_TEAM(colour_stats, LfStats, LfNothing, LfStatsShared)
