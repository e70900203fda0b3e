"""A video as a row of pictures: upright, with square pixels, evenly spaced, and the face followed in them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.events import Eos
from livefusion.core.face import Landmarks
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.faces.photo import PhotoFaces
from livefusion.media.sources.file import FileSource
from livefusion.ops.registry import NV12_TO_RGB
from livefusion.runtime.stage import StageContext

Rgb = npt.NDArray[np.uint8]
Tell = Callable[[str], None]

PER_SECOND, MOST_PICTURES, MOST_SECONDS = 8.0, 240, 60.0
"""So many pictures are looked at: more a second differ too little, a longer video takes too long."""
RIVAL_WIDTH = 0.4
"""A second face at least this wide, relative to the first, may be the one that is meant."""

_SEARCH_EVERY = 8
_PRESENCE = 0.5
_LARGEST_FACE = 700
"""Faces are kept no wider than so many pixels: three hundred of 4K would fill the memory."""
_MARGIN = 0.2
_SAME_PLACE = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Glimpse:
    """The face of one picture: a crop (h, w, 3) and its (478, 3) landmarks in pixels of the crop.

    ``stretch`` counts the times that the face was lost before: within one, it is one person's for sure.
    """

    seconds: float
    rgb: Rgb
    landmarks: Landmarks
    presence: float
    width: float
    stretch: int


@dataclass(slots=True)
class Footage:
    """What was found in a video: the face, how many pictures were looked at, and in how many of those that
    were searched as a whole there was a second face beside it."""

    glimpses: list[Glimpse]
    pictures: int = 0
    searches: int = 0
    rivals: int = 0
    seconds: float = 0.0


def watch(path: Path, finder: PhotoFaces, tell: Tell) -> Footage:
    """Follow the largest face through a video.

    ``InputError`` if the file is missing, no video, or nothing in it can be decoded; of a damaged one, what
    can be decoded is taken.
    """
    footage = Footage([])
    near: Landmarks | None = None
    stretch, since_search = -1, 0
    for rgb, seconds, share in pictures(path):
        tell(f"{path.name}: looking for the face, {share:.0%}")
        footage.pictures += 1
        footage.seconds = seconds
        mesh = finder.follow(rgb, near) if near is not None else None
        since_search += 1
        if mesh is None or mesh.presence < _PRESENCE or since_search >= _SEARCH_EVERY:
            since_search = 0
            found = _largest(rgb, finder, footage)
            if mesh is None or mesh.presence < _PRESENCE or _elsewhere(mesh.landmarks, found):
                mesh = finder.follow(rgb, found) if found is not None else None
                stretch += 1
        near = mesh.landmarks if mesh is not None and mesh.presence >= _PRESENCE else None
        if mesh is not None and near is not None:
            footage.glimpses.append(_glimpse(rgb, seconds, near, mesh.presence, stretch))
    return footage


def pictures(path: Path) -> Iterator[tuple[Rgb, float, float]]:
    """RGB pictures, their seconds since the first, and the share of the video that is behind."""
    source = FileSource(path, CpuDevice(), duration=MOST_SECONDS)
    source.open(StageContext("enrolment", SystemClock()))
    try:
        form = source.format
        length = min(form.duration or MOST_SECONDS, MOST_SECONDS)
        step = max(1 / PER_SECOND, length / MOST_PICTURES)
        start: float | None = None
        due = taken = 0
        while not isinstance(item := source.read(), Eos) and taken < MOST_PICTURES:
            if not isinstance(item, Frame):
                continue
            start = item.ts.seconds if start is None else start
            seconds = item.ts.seconds - start
            if seconds + 1e-6 < due * step:
                continue
            due, taken = int((seconds + 1e-6) / step) + 1, taken + 1
            yield _square(_rgb(item), float(form.pixel_aspect)), seconds, min(1.0, seconds / length)
    finally:
        source.close()


def _rgb(frame: Frame) -> Rgb:
    rgb = np.empty((frame.size.height, frame.size.width, 3), np.uint8)
    buffer = frame.buffer
    NV12_TO_RGB.body("cpu")(luma=buffer.luma, chroma=buffer.chroma, rgb=rgb, color=frame.color)
    return rgb


def _square(rgb: Rgb, pixel_aspect: float) -> Rgb:
    """With square pixels: a face that is squeezed has another shape."""
    if abs(pixel_aspect - 1) < 0.01 or pixel_aspect <= 0:
        return rgb
    size = (max(2, round(rgb.shape[1] * pixel_aspect)), rgb.shape[0])
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def _largest(rgb: Rgb, finder: PhotoFaces, footage: Footage) -> Landmarks | None:
    """The landmarks of the largest face, and note whether it has a rival."""
    # In all four orientations: a phone may have been held on its side without noting so.
    faces = finder.find(rgb, presence=_PRESENCE)
    footage.searches += 1
    if not faces:
        return None
    first, *others = (face.box for face in faces)
    if any(o.width >= RIVAL_WIDTH * first.width and o.iou(first) < _SAME_PLACE for o in others):
        footage.rivals += 1
    return faces[0].landmarks


def _elsewhere(known: Landmarks, found: Landmarks | None) -> bool:
    """Whether the face that was found is not the one that is followed."""
    return found is not None and Box.around(known).iou(Box.around(found)) < _SAME_PLACE


def _glimpse(rgb: Rgb, seconds: float, landmarks: Landmarks, presence: float, stretch: int) -> Glimpse:
    box = Box.around(landmarks)
    left, top = (
        max(0, int(low - _MARGIN * extent)) for low, extent in ((box.x, box.width), (box.y, box.height))
    )
    right = int(box.x + (1 + _MARGIN) * box.width) + 1
    bottom = int(box.y + (1 + _MARGIN) * box.height) + 1
    crop = rgb[top:bottom, left:right]
    points = landmarks - np.array([left, top, 0], np.float32)
    factor = min(1.0, _LARGEST_FACE / max(box.width, 1.0))
    if factor < 1:
        size = (max(2, round(crop.shape[1] * factor)), max(2, round(crop.shape[0] * factor)))
        scale = np.array([size[0] / crop.shape[1], size[1] / crop.shape[0], factor], np.float32)
        half = np.array([0.5, 0.5, 0], np.float32)
        points = (points + half) * scale - half
        crop = np.asarray(cv2.resize(crop, size, interpolation=cv2.INTER_AREA), np.uint8)
    return Glimpse(seconds, np.ascontiguousarray(crop), points, presence, box.width, stretch)
