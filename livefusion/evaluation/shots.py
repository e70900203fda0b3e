"""Some pictures of an input in which faces are seen, spread over it."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from livefusion.core.color import ColorInfo
from livefusion.core.errors import SettingsError
from livefusion.core.events import Eos
from livefusion.core.face import Landmarks
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box
from livefusion.core.settings import Pace, Settings
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.evaluation.faces import SMALLEST
from livefusion.evaluation.picture import Picture, Rgb
from livefusion.evaluation.sight import eye_distance
from livefusion.faces.landmarks import FaceMesh
from livefusion.media.host import HostPictures
from livefusion.media.photo import SUFFIXES, is_video, load_photo
from livefusion.media.sources.uri import (
    CameraLocator,
    FileLocator,
    PerformerLocator,
    parse_input,
)
from livefusion.ops.registry import RGB_TO_NV12
from livefusion.pipeline.ends import PictureSource, open_source
from livefusion.runtime.stage import StageContext

FILE_SECONDS = 60.0
"""So much of a file is looked at: to decode an hour takes minutes."""
LIVE_SECONDS = 5.0
"""The pictures of what has no end are spread over so long, if a face is in each."""
PATIENCE_SECONDS = 20.0
"""A camera is given up after this."""
_AGAIN_SECONDS = 0.25
"""Where no face is seen, the next look is so much later."""


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A picture with the (478, 3) landmarks of the faces in it, the largest first; at least one."""

    picture: Picture
    faces: tuple[Landmarks, ...]


class Search(Protocol):
    """What finds faces (``evaluation.sight.Sight``)."""

    def search(self, rgb: Rgb) -> list[FaceMesh]:
        """The meshes of all faces of a picture."""
        ...


def take_shots(settings: Settings, sight: Search, wanted: int) -> Generator[Shot]:
    """Up to ``wanted`` pictures of what ``settings.input`` names: a photo, a file, a camera, the performer.

    Close it to let go of the input. ``InputError`` and ``DriverError`` say what is wrong with that,
    ``SettingsError`` that it is something else.
    """
    locator = parse_input(settings.input)
    if isinstance(locator, FileLocator) and _is_photo(locator):
        picture = _picture_of(load_photo(locator.path))
        if faces := _faces(picture, sight):
            yield Shot(picture, faces)
        return
    if not isinstance(locator, FileLocator | CameraLocator | PerformerLocator):
        raise SettingsError(
            f"{settings.input} cannot be looked at beforehand", "give a camera, a file or a photo"
        )
    pace = Pace.REALTIME if isinstance(locator, CameraLocator) else Pace.FAST
    device = CpuDevice()
    source = open_source(locator, device, settings, pace)
    source.open(StageContext("shots", SystemClock()))
    with closing(source):
        longest = FILE_SECONDS if isinstance(locator, FileLocator) else PATIENCE_SECONDS
        known = [length for length in (source.format.duration, settings.duration) if length]
        step = min(longest, *(known or [LIVE_SECONDS])) / wanted
        pictures = _pictures(source, HostPictures(device), longest)
        yield from spread_shots(pictures, lambda picture: _faces(picture, sight), step, wanted)


def spread_shots(
    pictures: Iterator[tuple[float, Callable[[], Picture]]],
    faces_of: Callable[[Picture], tuple[Landmarks, ...]],
    step: float,
    wanted: int,
) -> Iterator[Shot]:
    """Up to ``wanted`` of the pictures, given with their seconds: the first with a face in each ``step``.

    Where there is none, the next look is a little later.
    """
    due, taken = 0.0, 0
    for seconds, copy in pictures:
        if seconds + 1e-6 < due:
            continue
        picture = copy()
        if not (faces := faces_of(picture)):
            due = seconds + min(step, _AGAIN_SECONDS)
            continue
        yield Shot(picture, faces)
        taken += 1
        if taken == wanted:
            return
        due = (int((seconds + 1e-6) / step) + 1) * step


def _pictures(
    source: PictureSource, host: HostPictures, longest: float
) -> Iterator[tuple[float, Callable[[], Picture]]]:
    """Each picture's seconds since the first, and what copies it."""
    start: float | None = None
    while not isinstance(item := source.read(), Eos):
        if not isinstance(item, Frame):
            continue
        start = item.ts.seconds if start is None else start
        seconds = item.ts.seconds - start
        if seconds > longest:
            return
        yield seconds, partial(_copied, item, host)


def _copied(frame: Frame, host: HostPictures) -> Picture:
    luma, chroma = host.planes(frame)
    return Picture(luma.copy(), chroma.copy(), frame.color)


def _faces(picture: Picture, sight: Search) -> tuple[Landmarks, ...]:
    """Those that are large enough to be told apart, the largest first."""
    found = [mesh.landmarks for mesh in sight.search(picture.rgb)]
    large = [face for face in found if eye_distance(face) >= SMALLEST]
    return tuple(sorted(large, key=lambda face: -Box.around(face).area))


def _is_photo(locator: FileLocator) -> bool:
    return locator.path.suffix.lower() in SUFFIXES and not is_video(locator.path)


def _picture_of(rgb: Rgb) -> Picture:
    """A photo as a frame; of an odd side the last row or column is left out."""
    height, width = (side - side % 2 for side in rgb.shape[:2])
    luma, chroma = np.empty((height, width), np.uint8), np.empty((height // 2, width // 2, 2), np.uint8)
    picture = Picture(luma, chroma, ColorInfo())
    rgb = np.ascontiguousarray(rgb[:height, :width])
    RGB_TO_NV12.body("cpu")(rgb=rgb, luma=luma, chroma=chroma, color=picture.color)
    return picture
