#include "occlusion.h"

LF_SUMS(occlusion_track, LfOcclusionTrack, LfCovered)
LF_PIXELS(occlude, LfOcclude)
