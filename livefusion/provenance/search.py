"""Finding the watermark in a picture that was cropped, or put into another one.

Its cells may then have any size and lie anywhere. For each size the whole plane of places is looked at in one
correlation (by FFT), for every epoch; the best places are then looked at closely. So many places are tried
that only a high score counts (``SEARCH_LIMIT``): a stretch of four seconds has it where a window has 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import cv2
import numpy as np
import numpy.typing as npt
from scipy.fft import irfft2, next_fast_len, rfft2

from livefusion.core.geometry import Size
from livefusion.provenance.chips import EPOCHS, Grid, presence_signs
from livefusion.provenance.detector import threshold
from livefusion.provenance.reading import bit_scores, read_by
from livefusion.provenance.watermark import Payload, WatermarkKey

Field = npt.NDArray[np.float32]

STRETCH_SECONDS, STRETCHES = 4.0, 5
"""Length of what is summed up at once, and how many of those are kept, from the beginning of a video."""
_SHORT = 360  # pixels of the short side that are kept of a picture
_AROUND, _CLIP = 13, 4.0
_SAMPLES = 2  # a cell, in the search; and looked at closely:
_CLOSE = 4
# Cells along the short side of what was received: from half the picture to a picture at two thirds of it.
_FEWEST, _MOST, _STEP = 0.45, 1.5, 1.007
_CANDIDATES = 3
_GRIDS = (Grid(90, 160), Grid(60, 107), Grid(45, 80))
_SCALES = int(np.log(_MOST / _FEWEST) / np.log(_STEP)) + 1
SEARCH_LIMIT = threshold(_SCALES * EPOCHS * STRETCHES * len(_GRIDS) * 200_000)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the marked picture lies in the one that was received.

    A point (x, y) of the received picture, in parts of its short side, is at column ``x · cells + left`` and
    row ``y · cells + top`` of the grid.
    """

    grid: Grid
    cells: float
    left: float
    top: float


@dataclass(frozen=True, slots=True)
class Sighting:
    """The best place, its score, and what the operator's keys read there."""

    score: float
    place: Place
    payload: Payload | None


class FieldLog:
    """Sums of the fine relief of a video by stretches of four seconds, for a search."""

    def __init__(self, size: Size) -> None:
        self._scale = min(1.0, _SHORT / max(1, min(size.width, size.height)))
        self.fields: list[Field] = []

    def add(self, luma: npt.NDArray[np.uint8], seconds: float) -> None:
        """Take the picture of that media time."""
        stretch = int(seconds // STRETCH_SECONDS)
        if stretch >= STRETCHES:
            return
        small = cv2.resize(luma, None, fx=self._scale, fy=self._scale, interpolation=cv2.INTER_AREA)
        levels = small.astype(np.float32)
        fine = np.clip(levels - cv2.blur(levels, (_AROUND, _AROUND)), -_CLIP, _CLIP)
        while len(self.fields) <= stretch:
            self.fields.append(np.zeros_like(fine))
        self.fields[stretch] += fine


def search(fields: Sequence[Field], keys: Sequence[WatermarkKey] = ()) -> Sighting | None:
    """Look everywhere; None if the mark is not there for certain."""
    best: tuple[float, Place] | None = None
    for field in fields:
        for grid in _GRIDS:
            for place in _candidates(field, grid):
                found = _look_closely(field, place)
                if best is None or found[0] > best[0]:
                    best = found
            if best is not None and best[0] > SEARCH_LIMIT:
                # It lies in all of them at the same place.
                return Sighting(best[0], best[1], _read(fields, best[1], keys))
    return None


def _candidates(field: Field, grid: Grid) -> list[Place]:
    """The places with the highest correlations, of all sizes."""
    found: list[tuple[float, Place]] = []
    short = min(field.shape)
    for step in range(_SCALES):
        cells = grid.rows * _FEWEST * _STEP**step
        scale = cells * _SAMPLES / short
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        image = cv2.resize(field, None, fx=scale, fy=scale, interpolation=method)
        shape = tuple(
            next_fast_len(max(a, b * _SAMPLES), real=True)
            for a, b in zip(image.shape, (grid.rows, grid.columns), strict=True)
        )
        surface = irfft2(np.conj(rfft2(image, shape)) * _spectra(grid, shape), shape)
        deviation = float(surface.std())
        at = np.unravel_index(int(surface.argmax()), surface.shape)
        top, left = (_signed(int(i), n, p) for i, n, p in zip(at[1:], shape, image.shape, strict=True))
        exact = image.shape[0] / _SAMPLES if field.shape[0] <= field.shape[1] else image.shape[1] / _SAMPLES
        place = Place(grid, exact, left / _SAMPLES, top / _SAMPLES)
        found.append((float(surface.max()) / max(deviation, 1e-9), place))
    found.sort(key=lambda entry: -entry[0])
    return [place for _, place in found[:_CANDIDATES]]


def _signed(index: int, length: int, extent: int) -> int:
    """A shift that wrapped round, as the least one that overlaps: negative where the picture was padded."""
    return index if index < length - extent // 2 else index - length


@lru_cache(maxsize=256)
def _spectra(grid: Grid, shape: tuple[int, int]) -> npt.NDArray[np.complex64]:
    """(epochs, …) spectra of the presence at two samples a cell."""
    patterns = np.stack([presence_signs(grid, epoch) for epoch in range(EPOCHS)]).astype(np.float32)
    large = patterns.repeat(_SAMPLES, axis=1).repeat(_SAMPLES, axis=2)
    spectra: npt.NDArray[np.complex64] = rfft2(large, shape).astype(np.complex64)
    return spectra


def _cells_at(field: Field, place: Place) -> Field:
    """(rows, columns) relief of the grid as it lies there; 0 where the picture does not reach."""
    grid, short = place.grid, min(field.shape)
    step = short / (place.cells * _CLOSE)  # pixels of the field between two samples
    shift = ((0.5 / _CLOSE - place.left), (0.5 / _CLOSE - place.top))
    across, down = (move * _CLOSE * step - 0.5 for move in shift)
    matrix = np.array([[step, 0, across], [0, step, down]], np.float64)
    size = (grid.columns * _CLOSE, grid.rows * _CLOSE)
    fine = cv2.warpAffine(field, matrix, size, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
    cells: Field = fine.reshape(grid.rows, _CLOSE, grid.columns, _CLOSE).mean(axis=(1, 3))
    return cells


def _score(field: Field, place: Place) -> float:
    """The best z of all epochs at a place."""
    cells = _cells_at(field, place)
    x = cells.reshape(-1) / max(1e-6, float(np.abs(cells).mean()))
    signs = _signs(place.grid)
    power = (x**2) @ np.abs(signs).T
    return float(np.max((signs @ x) / np.sqrt(np.maximum(power, 1e-9))))


@lru_cache(maxsize=4)
def _signs(grid: Grid) -> Field:
    return np.stack([presence_signs(grid, epoch).reshape(-1) for epoch in range(EPOCHS)]).astype(np.float32)


def _look_closely(field: Field, place: Place) -> tuple[float, Place]:
    """The best place near one, by ever smaller steps."""
    best = _score(field, place), place
    for step in (0.5, 0.25, 0.12):
        ratio = step / max(place.grid.columns, 1)
        for grow in (1 - 2 * ratio, 1 - ratio, 1, 1 + ratio, 1 + 2 * ratio):
            for right in (-step, 0, step):
                for lower in (-step, 0, step):
                    base = place
                    moved = Place(base.grid, base.cells * grow, base.left + right, base.top + lower)
                    score = _score(field, moved)
                    if score > best[0]:
                        best = score, moved
        place = best[1]
    return best


def _read(fields: Sequence[Field], place: Place, keys: Sequence[WatermarkKey]) -> Payload | None:
    """What the first of the keys that fits reads from all stretches together."""
    sums = [_cells_at(field, place).reshape(-1) for field in fields]
    signs = _signs(place.grid)
    stretches = [(int(np.argmax(signs @ x)), x) for x in sums]
    return read_by(keys, partial(bit_scores, place.grid, stretches))
