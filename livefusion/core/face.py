"""What is known of a face: seen once, followed over time, and whose it shall be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.frame import Frame, FrameCarrier
from livefusion.core.geometry import Box

Landmarks = npt.NDArray[np.float32]
"""(478, 3) points of the MediaPipe face mesh: x, y in frame pixels, z in the same unit, smaller is nearer."""


@dataclass(frozen=True, slots=True, eq=False)
class FaceObservation:
    """One face in one frame as a network saw it.

    ``score`` is in [0, 1]. ``keypoints`` is (5, 2) float32 in frame pixels: right eye, left eye, nose tip,
    right and left mouth corner of the performer (so left to right in the picture).
    """

    box: Box
    score: float
    keypoints: npt.NDArray[np.float32] | None = None
    landmarks: Landmarks | None = None


class TrackState(StrEnum):
    """How well a track is known in this frame."""

    SEEN = "seen"  # landmarks of this frame, presence above the gate
    DOUBTFUL = "doubtful"  # a face is probably there, but it was not measured well enough to be swapped
    PREDICTED = "predicted"  # not seen in this frame; the box is where the motion model puts it


@dataclass(frozen=True, slots=True, eq=False)
class FaceTrack:
    """One face followed over time, as it is in one frame.

    ``velocity`` is the motion of the box centre in pixels a frame; ``age`` and ``misses`` count frames since
    birth and since the face was last seen; ``quality`` is the presence score in [0, 1]; ``person`` is the
    number of the person that the recogniser binds to the track, None until it has looked. ``points`` are the
    (5, 2) alignment points that a landmark network of the user's sees, None without one.
    """

    id: int
    state: TrackState
    box: Box
    landmarks: Landmarks | None = None
    velocity: tuple[float, float] = (0.0, 0.0)
    age: int = 0
    misses: int = 0
    quality: float = 0.0
    person: int | None = None
    points: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class AnalysedFrame(FrameCarrier):
    """A frame with the faces known in it.

    ``trusted`` is False while no detection vouches for the whole picture (start, cut, silent detector): then
    faces may be in it that no track knows, and the safety policy covers the whole picture.
    """

    frame: Frame
    tracks: tuple[FaceTrack, ...]
    trusted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """How the skin of an identity changes with one expression.

    ``delta`` is (512, 512, 3) int8 RGB, added to the texture at half its size where the expression is at
    ``strength``, in (0, 1]: as strong as it was when the identity was made. At ``rest``, below that, it shows
    the texture as it is.
    """

    delta: npt.NDArray[np.int8]
    strength: float
    rest: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Portrait:
    """A face as a photo shows it: ``rgb`` (side, side, 3) uint8, upright, with some of what is round it, and
    the (5, 2) float32 ``points`` in it: eye middles, nose tip, mouth corners, left to right in it."""

    rgb: npt.NDArray[np.uint8]
    points: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """A face that others can be given.

    ``texture`` is (1024, 1024, 4) uint8 RGBA on the canonical mesh's UV map, alpha 0 where there is no skin;
    ``shape`` is (468, 3) float32, the neutral mesh in an arbitrary pose and unit (y down, smaller z nearer);
    ``embedding`` is the (128,) float32 unit vector of SFace or None; ``consent`` is the record kept with a
    real person's face, None for a persona, which belongs to nobody. ``painted`` says that it is paint on the
    performer's own face; ``coverage`` in [0, 1] is how much of the face below it hides. ``expressions`` has
    what is known of them by name; ``views`` is of how many pictures the texture was made, 0 if nobody noted
    it, and ``seen`` in [0, 1] which share of the face looked at the camera in one of them. ``portraits`` are
    faces of its photos, for swap networks; a persona has none.
    """

    id: str
    label: str
    texture: npt.NDArray[np.uint8]
    shape: npt.NDArray[np.float32]
    embedding: npt.NDArray[np.float32] | None = None
    consent: dict[str, Any] | None = field(default=None)
    painted: bool = False
    coverage: float = 1.0
    expressions: Mapping[str, Expression] = field(default_factory=dict)
    views: int = 0
    seen: float = 0.0
    portraits: tuple[Portrait, ...] = ()
