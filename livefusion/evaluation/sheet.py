"""A contact sheet: input, result and both faces enlarged, every so many pictures, for a person to look at."""

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.files import write_whole
from livefusion.core.geometry import Box
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.tap import Pair
from livefusion.faces.landmarks import crop_photo
from livefusion.faces.roi import Roi

_HEIGHT = 360
_FACE_GROWTH = 1.15


class ContactSheet:
    """Collects rows: the picture before and after, and the largest face before and after.

    Without ``every`` it starts with each picture, and thins itself out to at most ``most`` even steps.
    """

    def __init__(self, every: int | None = None, most: int = 6) -> None:
        self._thins = every is None
        self._every = every or 1
        self._most = most
        self._rows: list[tuple[int, Rgb]] = []

    def add(self, pair: Pair, faces: list[Landmarks]) -> None:
        """Take in a picture if it is its turn."""
        if pair.seq % self._every:
            return
        tiles = [_fitted(pair.before.rgb), _fitted(pair.after.rgb)]
        largest = max(faces, key=lambda face: Box.around(face).area, default=None)
        if largest is None:
            tiles += [np.zeros((_HEIGHT, _HEIGHT, 3), np.uint8)] * 2
        else:
            tiles += [_face(picture.rgb, largest) for picture in (pair.before, pair.after)]
        row = np.ascontiguousarray(np.hstack(tiles))
        cv2.putText(
            row, f"{pair.seq} {pair.outcome}", (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 0), 1
        )
        self._rows.append((pair.seq, row))
        while self._thins and len(self._rows) > self._most:
            self._every *= 2
            self._rows = [(seq, row) for seq, row in self._rows if seq % self._every == 0]

    def write(self, path: Path) -> bool:
        """Write a PNG; False if there was nothing to show. ``OutputError`` if it cannot be written."""
        if not self._rows:
            return False
        width = max(row.shape[1] for _, row in self._rows)
        rows = [np.pad(row, ((0, 4), (0, width - row.shape[1]), (0, 0))) for _, row in self._rows]
        bgr = cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR)
        encoded, content = cv2.imencode(".png", bgr)
        write_whole(path, content.tobytes() if encoded else b"")
        return True


def _fitted(rgb: Rgb) -> Rgb:
    width = round(rgb.shape[1] * _HEIGHT / rgb.shape[0])
    how = cv2.INTER_AREA if rgb.shape[0] > _HEIGHT else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(rgb, (width, _HEIGHT), interpolation=how), np.uint8)


def _face(rgb: Rgb, landmarks: Landmarks) -> npt.NDArray[np.uint8]:
    """The face upright in its place, not rolled: a person sees more that way."""
    box = Box.around(landmarks).grown(_FACE_GROWTH)
    return crop_photo(rgb, Roi.round(box, 0.0).to_crop(_HEIGHT), _HEIGHT)
