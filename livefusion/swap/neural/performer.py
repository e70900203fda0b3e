"""Whose face the performer has, as a network would be told: by it the new face is moved to or from him."""

import logging
import threading
from collections import OrderedDict
from functools import partial
from typing import Final

import numpy as np

from livefusion.core.alignment import points_of, similarity_onto
from livefusion.core.by_track import MOST_TRACKS
from livefusion.core.errors import LiveFusionError
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.devices.device import Array, Device, Event, Stream
from livefusion.ops.registry import NV12_WARP_NORM
from livefusion.swap.neural.recipe import Floats
from livefusion.swap.neural.source import RECOGNISER_SIDE, SourceReader

_log = logging.getLogger(__name__)

NEUTRAL: Final = 0.5
_FARTHEST: Final = 0.35


def weighed(source: Floats, performer: Floats, weight: float) -> Floats:
    """A latent moved by a ``weight`` in [0, 1]: towards the performer below 0.5, away from him above.

    The share of his is 0.35 at 0 and −0.35 at 1, as in facefusion; there his embedding is taken as it is,
    here what the network would be told of him.
    """
    share = np.float32(_FARTHEST * (1 - weight / NEUTRAL))
    return (source * (1 - share) + performer * share).astype(np.float32)


class Performers:
    """Knows the latents of the faces that are followed, each from one picture.

    ``live``, a recogniser is asked on a thread of its own, since it takes longer than a picture may; else
    ``latent`` waits for it. Used on one thread and one stream.
    """

    def __init__(self, device: Device, reader: SourceReader, *, live: bool) -> None:
        self._device = device
        self._reader = reader
        self._live = live
        self._latents: OrderedDict[int, Floats | None] = OrderedDict()
        shape = (1, 3, RECOGNISER_SIDE, RECOGNISER_SIDE)
        self._tensor: Array = device.empty(shape, np.float32)
        self._host = device.pinned(shape, np.float32)
        self._asked: threading.Thread | None = None

    def latent(self, frame: Frame, track: FaceTrack, stream: Stream) -> Floats | None:
        """(1, 512) float32 of the face of a track, None as long as it is not known."""
        if track.id in self._latents:
            return self._latents[track.id]
        if self._asked is not None and self._asked.is_alive():
            return None
        taken = self._take(frame, track, stream)
        if not self._live:
            self._ask(track.id, taken)
            return self._latents[track.id]
        work = partial(self._ask, track.id, taken)
        self._asked = threading.Thread(target=work, name="performer", daemon=True)
        self._asked.start()
        return None

    def wait(self, *, timeout: float) -> bool:
        """Wait until a recogniser that is at work has answered; False if ``timeout`` seconds passed first."""
        if self._asked is not None:
            self._asked.join(timeout=timeout)
            return not self._asked.is_alive()
        return True

    def _take(self, frame: Frame, track: FaceTrack, stream: Stream) -> Event:
        """Begin to bring the crop of a face to the host."""
        points, mean, deviation = self._reader.crop
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "out": self._tensor,
            "matrices": (similarity_onto(points_of(track), points),),
            "color": frame.color,
            "mean": tuple(255 * value for value in mean),
            "scale": tuple(1 / (255 * value) for value in deviation),
        }
        self._device.launch(NV12_WARP_NORM, arguments, stream)
        self._device.copy(self._host, self._tensor, stream)
        return stream.record()

    def _ask(self, track_id: int, taken: Event) -> None:
        latent = None
        try:
            taken.synchronize()
            latent = self._reader.latent_of(self._host)
        except LiveFusionError as error:  # he is not known then, and the face is that of the source alone
            _log.warning("the performer's face cannot be told: %s", error.problem)
        self._latents[track_id] = latent
        while len(self._latents) > MOST_TRACKS:
            self._latents.popitem(last=False)
