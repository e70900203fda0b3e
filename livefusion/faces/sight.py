"""What was seen of a face in one frame, and what to do when two sights are of one face."""

from collections.abc import Sequence
from dataclasses import dataclass

from livefusion.core.face import FaceObservation, TrackState
from livefusion.core.geometry import Box
from livefusion.faces.face import Face
from livefusion.faces.landmarks import FaceMesh

OWN = 0.45
"""The detector's box and the mesh's of one face overlap by 0.6 to 0.9 on real clips. What overlaps a face
less in the same frame is somebody else."""
# Where boxes of the detector touch, one mesh may lie over two faces: 0.58, and the edge of one was shown.
_OWN_AMONG_OTHERS = 0.65
_ONE_FACE = 0.6
_CLEARLY_BETTER = 0.1
_NEWBORN = 5
_APART = 0.3


@dataclass(slots=True, eq=False)
class Sight:
    """``face`` is who was looked for, None at a birth."""

    face: Face | None
    box: Box
    state: TrackState
    mesh: FaceMesh | None = None
    detection: FaceObservation | None = None
    rejected: bool = False


@dataclass(slots=True, eq=False)
class Candidate:
    """Something the detector saw that needs the landmark network: a new face, or one that was not found."""

    face: Face | None
    seen: FaceObservation


def own_overlaps(seen: Sequence[FaceObservation]) -> list[float]:
    """How much a mesh must at least overlap each thing that the detector saw to be of the same face."""
    return [
        _OWN_AMONG_OTHERS
        if any(other is not one and other.box.intersection(one.box).area > 0 for other in seen)
        else OWN
        for one in seen
    ]


def clash(sights: list[Sight]) -> list[tuple[Sight, Sight]]:
    """(winner, loser) of sights that are of one face.

    Where one face hides another, both tracks find the one in front. It belongs to the track that expected it
    there, by motion, and only in doubt to the older; so two who cross do not change tracks.
    """
    pairs = []
    lost: list[Sight] = []
    for index, first in enumerate(sights):
        for second in sights[index + 1 :]:
            if first in lost or second in lost or first.box.iou(second.box) <= _ONE_FACE:
                continue
            winner, loser = (first, second) if _claims_more(first, second) else (second, first)
            pairs.append((winner, loser))
            lost.append(loser)
    return pairs


def is_duplicate(loser: Sight) -> bool:
    """Whether the loser of a clash never was a face of its own.

    One that was seen beside another face is not, however young: on a busy machine two people meet within
    four frames of their birth.
    """
    return loser.face is None or (loser.face.sort.age < _NEWBORN and not loser.face.apart)


def note_apart(sights: list[Sight]) -> None:
    """Mark the faces that were found in places of their own in one frame."""
    seen = [sight for sight in sights if sight.state is TrackState.SEEN]
    for sight in seen:
        others = [other for other in seen if other is not sight]
        if sight.face is not None and others and all(sight.box.iou(o.box) < _APART for o in others):
            sight.face.apart = True


def _claims_more(first: Sight, second: Sight) -> bool:
    a, b = _fit(first), _fit(second)
    if abs(a - b) > _CLEARLY_BETTER:
        return a > b
    return _age(first) >= _age(second)


def _fit(sight: Sight) -> float:
    return 0.0 if sight.face is None else sight.box.iou(sight.face.expected)


def _age(sight: Sight) -> int:
    return -1 if sight.face is None else sight.face.sort.age
