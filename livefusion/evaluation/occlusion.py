"""Does what is before the face stay before it."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.geometry import Region
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.occluders import cover
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.tap import Pasted
from livefusion.evaluation.view import alpha_in

Mask = npt.NDArray[np.bool_]

_HALF = 128
_LEAST_PIXELS = 40


def kept_iou(swapped: Mask, occluder: Mask, kept: Mask) -> float | None:
    """Overlap of what stayed the input's and of the occluder, over their union, where the face is swapped.

    ``swapped`` is what the new face covers when nothing is before it. None if too little lies before it.
    """
    before, stays = occluder & swapped, kept & swapped
    if np.count_nonzero(before) < _LEAST_PIXELS:
        return None
    return float(np.count_nonzero(before & stays) / np.count_nonzero(before | stays))


@dataclass(slots=True)
class Rehearsal:
    """Where the face was, and what the swap covered, in the first pictures of a clip without occluders."""

    length: int
    landmarks: dict[int, Landmarks] = field(default_factory=dict)
    alphas: dict[int, npt.NDArray[np.uint8]] = field(default_factory=dict)

    def note(self, seq: int, landmarks: Landmarks, pasted: tuple[Pasted, ...], picture: Picture) -> None:
        """Remember a picture, until ``length`` are known."""
        if len(self.landmarks) < self.length and seq not in self.landmarks:
            self.landmarks[seq] = landmarks
            self.alphas[seq] = alpha_in(_whole(picture), pasted)

    @property
    def last(self) -> int:
        """The last picture of the rehearsal; −1 if there is none."""
        return max(self.landmarks, default=-1)


class OcclusionMeasure:
    """Draws one kind of occluder into the pictures of a rehearsal, and sees what the swap makes of it."""

    def __init__(self, kind: str, rehearsal: Rehearsal) -> None:
        self._kind = kind
        self._rehearsal = rehearsal
        self._occluders: dict[int, npt.NDArray[np.uint8]] = {}
        self._ious: list[float] = []
        self._covered = 0

    def draw(self, seq: int, picture: Picture) -> Picture | None:
        """The picture with the occluder, None where the face was not seen."""
        landmarks = self._rehearsal.landmarks.get(seq)
        if landmarks is None:
            return None
        covering = cover(self._kind, picture, landmarks, seq)
        self._occluders[seq] = covering.alpha
        return covering.picture

    def add(self, seq: int, picture: Picture, pasted: tuple[Pasted, ...], swapped: bool) -> None:
        """Compare what was pasted with the rehearsal and the occluder."""
        occluder = self._occluders.pop(seq, None)
        if occluder is None:
            return
        if not swapped:
            self._covered += 1
            return
        whole = _whole(picture)
        kept = alpha_in(whole, pasted) < _HALF
        # An occluder moves the landmarks too: where the mesh itself no longer reaches, nothing was kept.
        reach = alpha_in(whole, tuple(patch.uncut for patch in pasted)) >= _HALF
        iou = kept_iou(reach & (self._rehearsal.alphas[seq] >= _HALF), occluder >= _HALF, kept)
        if iou is not None:
            self._ious.append(iou)

    def figures(self) -> Figures:
        """The IoU by picture, and pictures in which the safety policy covered the face instead."""
        reason = "the face was covered in every picture" if self._covered else "it is before no swapped face"
        return {
            self._kind: Figure.of(self._ious, worst="min", reason=reason),
            f"{self._kind}_covered": Figure.single(self._covered, self._covered + len(self._ious)),
        }


def _whole(picture: Picture) -> Region:
    return Region(0, 0, picture.size.width, picture.size.height)
