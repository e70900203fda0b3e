"""One face in one picture, before and after: what every measure is given."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.geometry import Box, Region
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.sight import eye_distance
from livefusion.evaluation.tap import Pasted
from livefusion.faces.points import OVAL
from livefusion.swap.mesh.canonical import LEFT_EYE, OUTER_LIPS, RIGHT_EYE

Mask = npt.NDArray[np.bool_]

_WINDOW = 1.5


@dataclass(frozen=True, eq=False)
class FaceView:
    """A face ``key`` in picture ``seq``.

    ``was`` and ``now`` are the (478, 3) landmarks that the network finds before and after; ``true`` are those
    that were drawn, if that is known. ``pasted`` are the patches that touch the face, None if they cannot be
    told. ``previous`` is the same face one picture earlier, if it was swapped then.
    """

    key: int
    seq: int
    before: Picture
    after: Picture
    was: Landmarks
    now: Landmarks
    true: Landmarks | None = None
    pasted: tuple[Pasted, ...] | None = None
    previous: "FaceView | None" = None

    @property
    def place(self) -> Landmarks:
        """The best that is known of where the performer's face is."""
        return self.was if self.true is None else self.true

    @property
    def eye_distance(self) -> float:
        """Pixels between the outer corners of the performer's eyes."""
        return max(eye_distance(self.was), 1e-6)

    @property
    def width(self) -> float:
        """The performer's face from side to side in pixels."""
        return max(Box.around(self.was).width, 1.0)

    @cached_property
    def window(self) -> Region:
        """A rectangle with the face and what is round it."""
        return Region.covering(Box.around(self.was).grown(_WINDOW), self.before.size)

    @cached_property
    def alpha(self) -> npt.NDArray[np.uint8] | None:
        """The alpha of what was pasted, in the window; None if it cannot be told."""
        return None if self.pasted is None else alpha_in(self.window, self.pasted)

    @cached_property
    def skin(self) -> Mask:
        """The inner face without eyes and mouth, in the window."""
        mask = np.zeros((self.window.height, self.window.width), np.uint8)
        self._fill(mask, OVAL, 1)
        margin = max(1, round(self.width * 0.06))
        mask = np.asarray(cv2.erode(mask, np.ones((2 * margin + 1,) * 2, np.uint8)), np.uint8)
        for ring in (LEFT_EYE, RIGHT_EYE, OUTER_LIPS):
            hole = np.zeros_like(mask)
            self._fill(hole, np.array(ring), 1)
            grown = max(1, round(self.width * 0.025))
            mask[cv2.dilate(hole, np.ones((2 * grown + 1,) * 2, np.uint8)) > 0] = 0
        return mask.astype(np.bool_)

    def _fill(self, mask: npt.NDArray[np.uint8], ring: npt.NDArray[np.integer], value: int) -> None:
        corners = self.was[ring, :2] - (self.window.x, self.window.y)
        cv2.fillPoly(mask, [np.rint(corners).astype(np.int32)], value)


def alpha_in(window: Region, pasted: tuple[Pasted, ...]) -> npt.NDArray[np.uint8]:
    """The highest alpha of several patches at each pixel of a window; 0 where there is none."""
    alpha = np.zeros((window.height, window.width), np.uint8)
    for patch in pasted:
        region = patch.region
        left, top = max(window.x, region.x), max(window.y, region.y)
        right = min(window.x + window.width, region.x + region.width)
        bottom = min(window.y + window.height, region.y + region.height)
        if left >= right or top >= bottom:
            continue
        part = patch.alpha[top - region.y : bottom - region.y, left - region.x : right - region.x]
        target = alpha[top - window.y : bottom - window.y, left - window.x : right - window.x]
        np.maximum(target, part, out=target)
    return alpha


def hull(landmarks: Landmarks, growth: float) -> npt.NDArray[np.int32]:
    """The convex outline of a mesh, grown from its middle, as whole pixels (n, 1, 2)."""
    centre = landmarks[:, :2].mean(axis=0)
    grown = centre + (landmarks[:, :2] - centre) * growth
    return np.asarray(cv2.convexHull(np.rint(grown).astype(np.int32)), np.int32)
