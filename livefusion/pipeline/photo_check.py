"""Looks at photos before they are made into a face: what each scores, and which is the best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.blend.occlusion_crop import crop_of
from livefusion.core.errors import IdentityError, InputError
from livefusion.core.face import Landmarks
from livefusion.faces.photo import PhotoFaces
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.media.photo import is_video, load_photo
from livefusion.swap.intake import Intake, PhotoScore

_CROP = 128
_HIDDEN = 0.5
# The lower face with the nose: where hair and glasses are told apart from hands and things.
_LOWER_FACE = (117, 346, 50, 280, 205, 425, 4, 61, 291, 136, 365, 150, 379, 152)


@dataclass(frozen=True, slots=True)
class CheckedPhoto:
    """A photo that was looked at: its score, or why it has none."""

    path: Path
    score: PhotoScore | None
    refusal: str = ""

    @property
    def usable(self) -> bool:
        """Whether a face can be made of it."""
        return self.score is not None and not self.refusal


class OccludedShare:
    """How much of a face something hides, told by the occlusion network. One thread at a time.

    ``ModelError`` if the network is missing or damaged.
    """

    def __init__(self, registry: ModelRegistry | None = None) -> None:
        self._network = Session((registry or ModelRegistry.load())["face_occluder"])

    def __call__(self, rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> float:
        """The share in [0, 1] of the lower face with (478, 3) ``landmarks`` in a photo (h, w, 3)."""
        to_crop = crop_of(landmarks, _CROP)
        shrink = float(np.hypot(*to_crop.matrix[:, 0]))
        if shrink < 0.5:
            rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), 0.4 / shrink), np.uint8)
        border = cv2.BORDER_REPLICATE
        crop = cv2.warpAffine(rgb, to_crop.matrix, (_CROP, _CROP), flags=cv2.INTER_LINEAR, borderMode=border)
        image = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], np.float32) / np.float32(255)
        hidden = self._network.run({"image": image})["occlusion"][0, 0]
        face = np.zeros((_CROP, _CROP), np.uint8)
        outline = cv2.convexHull(np.rint(to_crop(landmarks[list(_LOWER_FACE), :2])).astype(np.int32))
        cv2.fillConvexPoly(face, outline, 1)
        return float((hidden[face > 0] > _HIDDEN).mean())


def photo_intake() -> Intake:
    """An intake that looks for hands and things too."""
    return Intake(OccludedShare())


def check_photos(paths: Sequence[Path]) -> list[CheckedPhoto]:
    """Each photo with its score, best first, then those that cannot be used.

    ``ModelError`` if a network is missing.
    """
    checked = list(_check(paths))
    return sorted(checked, key=lambda each: (not each.usable, -each.score.overall if each.score else 0))


def _check(paths: Sequence[Path]) -> Iterator[CheckedPhoto]:
    finder, intake = PhotoFaces.from_registry(), photo_intake()
    for path in paths:
        try:
            score = _score(path, finder, intake)
        except (IdentityError, InputError) as error:  # told with the others: one bad file of many loses none
            yield CheckedPhoto(path, None, str(error))
            continue
        fatal = score.refusal
        yield CheckedPhoto(path, score, f"{fatal.problem}: {fatal.remedy}" if fatal else "")


def _score(path: Path, finder: PhotoFaces, intake: Intake) -> PhotoScore:
    if is_video(path):
        raise InputError(f"{path} is a video", "photos have scores; give videos to `livefusion identity add`")
    rgb = load_photo(path)
    return intake.score(path.name, rgb, finder.find(rgb))
