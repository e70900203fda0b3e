#include "detail.h"

LF_TEAM(measure_detail, LfDetail, LfNothing, LfDetailShared)
LF_PIXELS(soften_rows, LfSoften)
LF_PIXELS(soften_columns, LfSoften)
