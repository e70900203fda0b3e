"""Which faces are in a pair of pictures, and what was done to each."""

from dataclasses import dataclass, replace

from livefusion.core.face import Landmarks
from livefusion.core.frame import Outcome
from livefusion.core.geometry import Box, Region
from livefusion.evaluation.sight import Follower, Sight, eye_distance
from livefusion.evaluation.tap import Pair, Pasted
from livefusion.evaluation.truth import Truth
from livefusion.evaluation.view import FaceView

SMALLEST = 10.0
"""Pixels between the eyes below which a face is too small to be judged by any network."""
_TOUCHES = 0.2
_COVER_FEATHER = 1.3


@dataclass(frozen=True, slots=True, eq=False)
class SeenFace:
    """A face as the network sees it in the input, and as it was drawn, if that is known."""

    was: Landmarks
    true: Landmarks | None


class FaceWatch:
    """Finds the faces of each picture, and pairs them with what was pasted; used on one clip."""

    def __init__(self, sight: Sight, truth: Truth | None = None) -> None:
        self._sight = sight
        self._truth = truth
        self._follower = Follower(sight)
        self._last: dict[int, FaceView] = {}

    def seen(self, pair: Pair) -> dict[int, SeenFace]:
        """Every face of the input, by number."""
        if self._truth is None:
            return {key: SeenFace(was, None) for key, was in self._follower.follow(pair.before.rgb).items()}
        rgb = pair.before.rgb
        return {
            key: SeenFace(self._sight.mesh(rgb, true).landmarks, true)
            for key, true in self._truth.at(pair.seq).items()
        }

    def views(self, pair: Pair, faces: dict[int, SeenFace]) -> list[FaceView]:
        """The faces that were swapped, with what they were one picture earlier.

        In a picture in which others were covered they are known by what was pasted on them.
        """
        views: list[FaceView] = []
        told = pair.outcome is Outcome.SWAPPED or (pair.outcome is Outcome.SAFE and pair.pasted)
        if told and pair.after.size == pair.before.size:
            views = [view for key, face in faces.items() if (view := self._view(pair, key, face))]
        self._last = {view.key: replace(view, previous=None) for view in views}
        return views

    def _view(self, pair: Pair, key: int, face: SeenFace) -> FaceView | None:
        if eye_distance(face.was) < SMALLEST:
            return None
        if any(_meet(face.was, region) for region in pair.covered):
            return None
        pasted = None if pair.pasted is None else patches_on(face.was, pair.pasted)
        if pasted is not None and not pasted:
            return None
        now = self._sight.mesh(pair.after.rgb, face.was).landmarks
        last = self._last.get(key)
        return FaceView(key, pair.seq, pair.before, pair.after, face.was, now, face.true, pasted, last)


def _meet(landmarks: Landmarks, region: Region) -> bool:
    """Whether what was covered reaches the face."""
    covered = Box(region.x, region.y, region.width, region.height).grown(_COVER_FEATHER)
    return Box.around(landmarks).intersection(covered).area > 0


def patches_on(landmarks: Landmarks, pasted: tuple[Pasted, ...]) -> tuple[Pasted, ...]:
    """The patches that lie on a face."""
    box = Box.around(landmarks)
    return tuple(
        patch
        for patch in pasted
        if box.iou(Box(patch.region.x, patch.region.y, patch.region.width, patch.region.height)) > _TOUCHES
    )
