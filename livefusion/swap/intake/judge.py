"""The intake of photos: looks at everything that matters and says what it found."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError
from livefusion.core.face import FaceObservation, Landmarks
from livefusion.swap.intake.cover import cover_criteria
from livefusion.swap.intake.criterion import Advice, Criterion
from livefusion.swap.intake.detail import sharpness
from livefusion.swap.intake.light import light_criteria
from livefusion.swap.intake.mien import mien_criteria
from livefusion.swap.intake.pose import pose_criteria
from livefusion.swap.intake.score import PhotoScore
from livefusion.swap.mesh.bake import SourcePhoto, unwrap
from livefusion.swap.mesh.delight import bare_skin, delight, shading_of
from livefusion.swap.mesh.expression import ExpressionReader
from livefusion.swap.mesh.glasses import without_glasses

Rgb = npt.NDArray[np.uint8]
Covered = Callable[[Rgb, Landmarks], float]
"""Share in [0, 1] of the face with these landmarks in (h, w, 3) that something else hides."""

# A second face at least this wide, relative to the first, leaves open which one is meant.
RIVAL_WIDTH = 0.4


class Intake:
    """Scores photos. One thread at a time. ``ModelError`` if a network is missing or damaged.

    ``covered`` is asked how much of a face is hidden; without it nobody looks for hands and the like.
    """

    def __init__(self, covered: Covered | None = None) -> None:
        self._covered = covered
        self._expression = ExpressionReader()

    def score(self, name: str, rgb: Rgb, faces: Sequence[FaceObservation]) -> PhotoScore:
        """What a photo (h, w, 3) uint8 scores, given its ``faces`` with landmarks, largest first.

        ``IdentityError`` if it shows no face, or several.
        """
        landmarks = _only_face(name, faces)
        return PhotoScore(name, tuple(self._criteria(rgb, landmarks)))

    def _criteria(self, rgb: Rgb, landmarks: Landmarks) -> Iterator[Criterion]:
        yield from pose_criteria(landmarks)
        yield from mien_criteria(landmarks, self._expression(landmarks))
        raw = unwrap(SourcePhoto(rgb, landmarks))
        face = without_glasses(raw)
        yield from light_criteria(face, bare_skin(face), shading_of(face))
        yield sharpness(rgb, landmarks)
        covered = self._covered(rgb, landmarks) if self._covered else None
        yield from cover_criteria(raw, delight(face), covered)


def judge_photo(
    name: str, rgb: Rgb, faces: Sequence[FaceObservation], intake: Intake | None = None
) -> tuple[Advice, ...]:
    """What could be better about a photo (h, w, 3) uint8, worst first.

    ``faces`` are those in it with landmarks, largest first. ``IdentityError`` if it cannot be used: no face,
    several, turned away, too small, too dark or too bright.
    """
    score = (intake or Intake()).score(name, rgb, faces)
    refusal = score.refusal
    if refusal is not None:
        raise IdentityError(f"{refusal.problem} in {name}", refusal.remedy)
    return score.advice


def _only_face(name: str, faces: Sequence[FaceObservation]) -> Landmarks:
    known = [face for face in faces if face.landmarks is not None]
    if not known:
        raise IdentityError(
            f"there is no face in {name}", "use a sharp photo of one face that looks at the camera"
        )
    rivals = [face for face in known if face.box.width >= RIVAL_WIDTH * known[0].box.width]
    if len(rivals) > 1:
        raise IdentityError(f"there are {len(rivals)} faces in {name}", "crop it to the face that you want")
    landmarks = known[0].landmarks
    assert landmarks is not None
    return landmarks
