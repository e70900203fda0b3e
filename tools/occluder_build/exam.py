"""The exam: things that training has never seen, drawn before faces that it has never seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime

from livefusion.blend.occlusion_crop import crop_of
from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.evaluation.occluders import KINDS, cover
from livefusion.evaluation.picture import Picture
from livefusion.faces.photo import PhotoFaces
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.ops.registry import RGB_TO_NV12
from livefusion.testing.reel import draw_reel

from .faces import oval_mask

Rgb = npt.NDArray[np.uint8]
Landmarks = npt.NDArray[np.float32]

BARE = "nothing"
_LEAST_PIXELS = 40
_SIDE = 128
_PERFORMER = PerformerOptions(size=Size(1280, 720), face=450)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A crop with something before the face, or nothing: ``image`` (s, s, 3) RGB, ``answer`` and ``face``
    (s, s) uint8, 255 where it is covered, and where the face is."""

    clip: str
    kind: str
    image: Rgb
    answer: Rgb
    face: Rgb


def questions(clips: Iterable[Path], pictures: int) -> list[Question]:
    """Of the performer and of each clip so many pictures, each bare and with each kind of thing."""
    finder = PhotoFaces.from_registry()
    made = list(_of_pictures("performer", _performer(pictures), finder))
    for clip in clips:
        made += _of_pictures(clip.name, _frames(clip, pictures), finder)
    return made


def _performer(pictures: int) -> Iterator[Picture]:
    reel = draw_reel(_PERFORMER, pictures, step=11)
    for shot in reel.shots:
        yield Picture(shot.luma, shot.chroma, reel.color)


def _frames(clip: Path, pictures: int) -> Iterator[Picture]:
    video = cv2.VideoCapture(str(clip))
    frames = []
    while True:
        read, bgr = video.read()
        if not read:
            break
        frames.append(bgr)
    for number in np.linspace(0, len(frames) - 1, min(pictures, len(frames))).round().astype(int):
        rgb = np.ascontiguousarray(frames[number][..., ::-1], np.uint8)
        rgb = rgb[: rgb.shape[0] & ~1, : rgb.shape[1] & ~1].copy()
        luma = np.empty(rgb.shape[:2], np.uint8)
        chroma = np.empty((rgb.shape[0] // 2, rgb.shape[1] // 2, 2), np.uint8)
        RGB_TO_NV12.body("cpu")(rgb=rgb, luma=luma, chroma=chroma, color=ColorInfo())
        yield Picture(luma, chroma, ColorInfo())


def _of_pictures(clip: str, pictures: Iterator[Picture], finder: PhotoFaces) -> Iterator[Question]:
    for number, picture in enumerate(pictures):
        for face in finder.find(picture.rgb, max_side=640)[:2]:
            if face.landmarks is None or face.box.height < 40:
                continue
            bare = np.zeros(picture.luma.shape, np.uint8)
            yield _question(clip, BARE, picture.rgb, bare, face.landmarks)
            for kind in KINDS:
                covered = cover(kind, picture, face.landmarks, number * 3)
                # As when live: the landmarks are those found on the covered face.
                found = finder.landmarks(covered.picture.rgb, face)
                points = found.landmarks if found.presence > 0.5 else face.landmarks
                yield _question(clip, kind, covered.picture.rgb, covered.alpha, points)


def _question(clip: str, kind: str, rgb: Rgb, alpha: Rgb, landmarks: Landmarks) -> Question:
    crop = crop_of(landmarks, _SIDE)
    planes = []
    for plane in (rgb, alpha):
        # Finer by whole steps, then averaged: a crop of a large face must not alias.
        fine = max(1, round(1 / np.hypot(*crop.matrix[:, 0])))
        large = cv2.warpAffine(plane, crop_of(landmarks, _SIDE * fine).matrix, (_SIDE * fine,) * 2)
        planes.append(np.asarray(cv2.resize(large, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA), np.uint8))
    face = oval_mask(crop(landmarks[:468, :2].astype(np.float64)).astype(np.float32), _SIDE)
    return Question(clip, kind, planes[0], planes[1], face)


class Candidate:
    """The network under test."""

    def __init__(self, content: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def look(self, image: Rgb) -> npt.NDArray[np.float32]:
        """(s, s) share covered, of a crop (s, s, 3)."""
        planes = np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32) / 255
        return np.asarray(self._session.run(None, {"image": planes})[0][0, 0], np.float32)


def marks(asked: list[Question], candidate: Candidate) -> Iterator[tuple[str, str, float, int]]:
    """For each clip and kind: the mean IoU inside the face, or the share wrongly marked where nothing is.

    What is marked on the same face bare too, such as a hand or a fringe of the clip's own, is not held
    against the network: nobody drew it, so nobody knows.
    """
    results: dict[tuple[str, str], list[float]] = {}
    own = np.zeros((_SIDE, _SIDE), np.bool_)
    for question in asked:
        inside, said = question.face > 128, candidate.look(question.image) > 0.5
        true = question.answer > 127
        if question.kind == BARE:
            value = float(said[inside].mean())
            own = cv2.dilate(said.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        elif np.count_nonzero(true & inside) >= _LEAST_PIXELS:
            asked_of = inside & (true | ~own)
            value = float(np.count_nonzero(said & true & inside))
            value /= np.count_nonzero((said | true) & asked_of)
        else:
            continue
        results.setdefault((question.clip, question.kind), []).append(value)
    for (clip, kind), values in results.items():
        yield clip, kind, float(np.mean(values)), len(values)


def sheet(asked: list[Question], candidate: Candidate, path: Path, columns: int = 14) -> None:
    """A PNG of crops with what is said to be covered in red, and the outline of what is."""
    tiles: list[Any] = []
    for question in asked:
        said = candidate.look(question.image)[..., None]
        shown = question.image * (1 - 0.7 * said) + np.array([255, 0, 0]) * 0.7 * said
        tile = np.asarray(shown, np.uint8)
        for plane, colour in ((question.answer, (0, 255, 0)), (question.face, (90, 90, 90))):
            rim = cv2.findContours((plane > 127).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)[0]
            cv2.drawContours(tile, rim, -1, colour, 1)
        tiles.append(np.vstack([question.image, tile]))
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    rows = [np.hstack(tiles[k : k + columns]) for k in range(0, len(tiles), columns)]
    cv2.imwrite(str(path), np.vstack(rows)[..., ::-1])
