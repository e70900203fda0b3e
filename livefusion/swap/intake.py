"""Is a photo good enough to be a source? What is wrong with it, and what would be better."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError
from livefusion.core.face import FaceObservation, Landmarks
from livefusion.swap.mesh.canonical import (
    CHIN,
    FOREHEAD_TOP,
    INNER_LIPS,
    OUTER_EYE_CORNERS,
    RIGID,
    VERTEX_COUNT,
    canonical_mesh,
)
from livefusion.swap.mesh.shape import fit_pose

# Width of the face in pixels between the temples: below the first nothing can be made of it.
SMALLEST_FACE, GOOD_FACE = 90.0, 200.0
# Degrees away from the camera: at 40° a third of the face is hidden and would be invented.
TURNED_TOO_FAR, TURNED = 40.0, 25.0
# Mean brightness of the face, 0–255.
TOO_DARK, DARK, BRIGHT, TOO_BRIGHT = 22.0, 60.0, 215.0, 245.0
# Mean difference of the two halves of the face over their mean: light from one side.
SIDE_LIGHT = 0.35
# Gap between the lips over the height of the face.
OPEN_MOUTH = 0.04
# Share of the face's contrast that is left when it is seen at half the size of a 128 px crop and back again.
BLURRED = 0.035
# A second face at least this wide, relative to the first, leaves open which one is meant.
RIVAL_WIDTH = 0.4

_CROP = 128
_UPPER_LIP, _LOWER_LIP = 13, 14


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that could be better about a photo that can be used."""

    photo: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.photo}: {self.problem}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class _Finding:
    """A fault of a photo; ``fatal`` if nothing believable can be made of it."""

    problem: str
    remedy: str
    fatal: bool = False


def judge_photo(
    name: str, rgb: npt.NDArray[np.uint8], faces: Sequence[FaceObservation]
) -> tuple[Advice, ...]:
    """What could be better about a photo (h, w, 3) uint8, given its ``faces`` with landmarks, largest first.

    ``IdentityError`` if it cannot be used: no face, several, turned away, too small, too dark or too bright.
    """
    landmarks = _only_face(name, faces)
    findings = list(_findings(rgb, landmarks))
    for finding in findings:
        if finding.fatal:
            raise IdentityError(f"{finding.problem} in {name}", finding.remedy)
    return tuple(Advice(name, finding.problem, finding.remedy) for finding in findings)


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


def _findings(rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> Iterator[_Finding]:
    width = float(np.ptp(landmarks[:VERTEX_COUNT, 0]))
    if width < GOOD_FACE:
        yield _Finding(
            f"the face is only {width:.0f} px wide",
            f"use a photo in which it is {GOOD_FACE:.0f} px or wider",
            fatal=width < SMALLEST_FACE,
        )
    angle = turned_by(landmarks)
    if angle > TURNED:
        yield _Finding(
            f"the face is turned away by {angle:.0f}°",
            "use a photo that looks straight into the camera",
            fatal=angle > TURNED_TOO_FAR,
        )
    if _lip_gap(landmarks) > OPEN_MOUTH:
        yield _Finding("the mouth is open", "use a photo with closed lips")
    yield from _light_findings(_aligned(rgb, landmarks))


def _light_findings(face: npt.NDArray[np.float32]) -> Iterator[_Finding]:
    """Findings about a (128, 128) grey crop of the face."""
    level = float(face.mean())
    if level < DARK:
        yield _Finding("the face is dark", "use a photo with more light on it", fatal=level < TOO_DARK)
    if level > BRIGHT:
        yield _Finding("the face is burnt out", "use a photo with less light", fatal=level > TOO_BRIGHT)
    left, right = float(face[:, : _CROP // 2].mean()), float(face[:, _CROP // 2 :].mean())
    if abs(left - right) > SIDE_LIGHT * max(level, 1.0):
        yield _Finding("the light comes from one side", "use a photo with even light")
    coarse = cv2.resize(cv2.resize(face, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), (_CROP, _CROP))
    if float((face - coarse).std()) < BLURRED * float(face.std()):
        yield _Finding("the face is blurred", "use a sharp photo")


def turned_by(landmarks: Landmarks) -> float:
    """Angle in degrees between where a face looks and the camera."""
    rigid = list(RIGID)
    pose = fit_pose(canonical_mesh().vertices[rigid], landmarks[rigid])
    return float(np.degrees(np.arccos(np.clip(pose.rotation[2, 2], -1, 1))))


def _lip_gap(landmarks: Landmarks) -> float:
    gap = np.linalg.norm(landmarks[_UPPER_LIP, :2] - landmarks[_LOWER_LIP, :2])
    return float(gap / (np.linalg.norm(landmarks[FOREHEAD_TOP, :2] - landmarks[CHIN, :2]) + 1e-6))


def _aligned(rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> npt.NDArray[np.float32]:
    """The inner face as a (128, 128) grey crop with level eyes, averaged where it shrinks."""
    right, left = (landmarks[index, :2].astype(np.float64) for index in OUTER_EYE_CORNERS)
    middle = landmarks[list(INNER_LIPS), :2].mean(axis=0)
    centre = (right + left + 2 * middle) / 4
    along = (left - right) * 1.25 / _CROP
    down = np.array([-along[1], along[0]])
    origin = centre - (along + down) * (_CROP - 1) / 2
    matrix = np.column_stack([along, down, origin])
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    blur = float(np.hypot(*along)) / 2
    if blur > 0.5:
        grey = cv2.GaussianBlur(grey, (0, 0), blur * 0.8)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    crop = cv2.warpAffine(grey, matrix, (_CROP, _CROP), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(crop, np.float32)
