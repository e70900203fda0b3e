"""What makes each track's patch as sharp and as grainy as the scene, steady over time."""

import numpy as np

from livefusion.core.by_track import ByTrack
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.reference.detail import DETAIL_SHAPE
from livefusion.ops.registry import MEASURE_DETAIL, SOFTEN_PATCH

STEADINESS, NOISE_STEADINESS = 0.7, 0.9
"""Share of the old in the new, once a track is settled: blur comes and goes with motion, noise stays."""
_SAMPLES_ACROSS = 80
"""A patch is looked at in about so many places along its width: more tell nothing new."""


class DetailMatcher:
    """Measures patches and the frames below them; remembers what was found of each track."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._tracks: ByTrack[_TrackDetail] = ByTrack()

    def match(self, frame: Frame, patch: Patch, track_id: int, stream: Stream) -> Array:
        """Soften the patch in place; ``detail`` for ``blend_matched``, valid until the track's next patch."""
        track = self._track(track_id, stream)
        momentum, noise_momentum = track.next_momenta()
        measure = {
            "patch": patch.pixels,
            "luma": frame.buffer.luma,
            "x": patch.region.x,
            "y": patch.region.y,
            "step": -(-patch.region.width // _SAMPLES_ACROSS),
            "momentum": momentum,
            "noise_momentum": noise_momentum,
            "detail": track.detail,
        }
        self._device.launch(MEASURE_DETAIL, measure, stream)
        self._device.launch(SOFTEN_PATCH, {"patch": patch.pixels, "detail": track.detail}, stream)
        return track.detail

    def reset(self) -> None:
        """Forget what was found: the picture has jumped."""
        for track in self._tracks:
            track.frames = 0

    def _track(self, track_id: int, stream: Stream) -> "_TrackDetail":
        return self._tracks.of(track_id, lambda: _TrackDetail(self._device, stream))


class _TrackDetail:
    """What was found of one track; ``frames`` counts since birth or the last jump."""

    def __init__(self, device: Device, stream: Stream) -> None:
        self.frames = 0
        self.detail = device.empty(DETAIL_SHAPE, np.float32)
        # All zero means "nothing is missing", which is what a patch gets that is too small to be measured.
        device.copy(self.detail, np.zeros(DETAIL_SHAPE, np.float32), stream)

    def next_momenta(self) -> tuple[float, float]:
        """The plain mean over the first frames, then an exponential one."""
        settled = self.frames / (self.frames + 1)
        self.frames += 1
        return min(STEADINESS, settled), min(NOISE_STEADINESS, settled)
