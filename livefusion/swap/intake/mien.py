"""What a face does in a photo: it should rest, for the performer's expression is what will be shown."""

from collections.abc import Iterator

import numpy as np

from livefusion.core.face import Landmarks
from livefusion.swap.intake.criterion import Criterion, graded
from livefusion.swap.mesh.canonical import CHIN, FOREHEAD_TOP
from livefusion.swap.mesh.expression import BLINKS, Scores, strength

_UPPER_LIP, _LOWER_LIP = 13, 14
# Gap between the lips over the height of the face.
_OPEN_MOUTH = 0.04
_INNER_BROWS, _OUTER_BROWS = 3, (4, 5)


def mien_criteria(landmarks: Landmarks, scores: Scores) -> Iterator[Criterion]:
    """Mouth, smile, eyes and brows of a face, by its (478, 3) landmarks and its (52,) blendshape scores."""
    yield Criterion(
        "mouth",
        graded(_lip_gap(landmarks), (0.01, 100), (_OPEN_MOUTH, 70), (0.15, 0)),
        "the mouth is open",
        "close the lips",
    )
    yield Criterion(
        "smile",
        graded(strength(scores, "smile"), (0.1, 100), (0.5, 70), (1.0, 20)),
        "the face smiles: its folds would be put on too",
        "look calm",
    )
    yield Criterion(
        "eyes",
        graded(float(np.mean([scores[index] for index in BLINKS])), (0.2, 100), (0.45, 70), (0.8, 0)),
        "the eyes are closed",
        "open the eyes",
    )
    raised = max(float(scores[_INNER_BROWS]), float(np.mean([scores[index] for index in _OUTER_BROWS])))
    yield Criterion(
        "brows",
        graded(raised, (0.3, 100), (0.6, 70), (1.0, 20)),
        "the brows are raised",
        "relax the forehead",
    )


def _lip_gap(landmarks: Landmarks) -> float:
    gap = np.linalg.norm(landmarks[_UPPER_LIP, :2] - landmarks[_LOWER_LIP, :2])
    return float(gap / (np.linalg.norm(landmarks[FOREHEAD_TOP, :2] - landmarks[CHIN, :2]) + 1e-6))
