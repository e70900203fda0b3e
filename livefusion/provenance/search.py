"""Finding the watermark in a picture that was cropped, or put into another one.

Its cells may then have any size and lie anywhere. For each size the whole plane of places is looked at in one
correlation (by FFT), for every epoch; the best places are then looked at closely. So many places are tried
that only a high score counts (``SEARCH_LIMIT``): a stretch of four seconds has it where a window has 8.

The ramps between cells leave next to nothing above half a period a cell: one sample a cell is enough, taken
twice, half a cell apart, so that a place is never missed by more than half a cell. Four samples a cell, and
steps of 0.7 % in size, took five times as long (26 s of a core for 10 s of video) and found nothing more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import cv2
import numpy as np
import numpy.typing as npt
from scipy.fft import irfft2, next_fast_len, rfft2

from livefusion.core.geometry import Size
from livefusion.provenance.chips import EPOCHS, Grid, presence_signs
from livefusion.provenance.detector import CHUNK_SECONDS, threshold
from livefusion.provenance.reading import bit_scores, read_by
from livefusion.provenance.watermark import Payload, WatermarkKey

Field = npt.NDArray[np.float32]

STRETCH_SECONDS, STRETCHES = 4.0, 5
"""Length of what is summed up at once, and how many of those are kept, from the beginning of a video."""
_SHORT = 360  # pixels of the short side that are kept of a picture
_AROUND, _CLIP, _EDGE, _CALM = 13, 4.0, 6.0, 0.25  # pixels; levels; squared levels, as in ``whitening``
_CLOSE = 4  # samples a cell along each side, where it is looked at closely
# Cells along the short side of what was received: from half the picture to a picture at two thirds of it.
_FEWEST, _MOST, _STEP = 0.45, 1.5, 1.016
_CANDIDATES = 3
_SURE = 9.0  # deviations: of all that is tried, noise reached 6.4
_AT_ONCE = 4  # epochs: the cache holds so many; all at once take twice as long
_ROUND = 6  # cells: the size of a spectrum is a multiple
_PROMISING = 0.7  # of the limit: what has less in a look at close range does not get there
_GRIDS = (Grid(90, 160), Grid(60, 107), Grid(45, 80))
_SCALES = int(np.log(_MOST / _FEWEST) / np.log(_STEP)) + 1
_SIZES, _PLACES = 200, 200_000  # that can be told apart, however coarsely the search begins
SEARCH_LIMIT = threshold(_SIZES * EPOCHS * STRETCHES * len(_GRIDS) * _PLACES)


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
    """The fine relief of a video by stretches of four seconds, for a search; ``close`` before it is read.

    Pictures are summed as they come, and relieved once in half a second.
    """

    def __init__(self, size: Size) -> None:
        self._scale = min(1.0, _SHORT / max(1, min(size.width, size.height)))
        self.fields: list[Field] = []
        self._sum: Field | None = None
        self._pictures, self._chunk = 0, 0

    def add(self, luma: npt.NDArray[np.uint8], seconds: float) -> None:
        """Take the picture of that media time; the times must not fall."""
        chunk = int(seconds // CHUNK_SECONDS)
        if chunk >= round(STRETCHES * STRETCH_SECONDS / CHUNK_SECONDS):
            return
        if chunk != self._chunk:
            self.close()
            self._chunk = chunk
        if self._sum is None:
            self._sum, self._pictures = np.zeros(luma.shape, np.float32), 0
        cv2.accumulate(luma, self._sum)
        self._pictures += 1

    def close(self) -> None:
        """Count what was summed up, as much as it has pictures."""
        if self._sum is None:
            return
        small = cv2.resize(self._sum, None, fx=self._scale, fy=self._scale, interpolation=cv2.INTER_AREA)
        levels = np.asarray(small / np.float32(self._pictures), np.float32)
        rest = levels - cv2.blur(levels, (_AROUND, _AROUND))
        unrest = cv2.blur(np.clip(rest, -_EDGE, _EDGE) ** 2, (_AROUND, _AROUND))
        fine = np.clip(rest, -_CLIP, _CLIP) / (_CALM + unrest)
        fine *= np.float32(self._pictures**0.5 / max(float(np.linalg.norm(fine)), 1e-9))
        stretch = int(self._chunk * CHUNK_SECONDS // STRETCH_SECONDS)
        while len(self.fields) <= stretch:
            self.fields.append(np.zeros_like(fine))
        self.fields[stretch] += fine
        self._sum = None


def search(
    fields: Sequence[Field],
    keys: Sequence[WatermarkKey] = (),
    tell: Callable[[float], None] = lambda share: None,
) -> Sighting | None:
    """Look everywhere; None if the mark is not there for certain. ``tell`` hears what share is looked at."""
    if not fields:
        return None
    stack = np.dstack(fields)
    best: tuple[float, Place] | None = None
    for number, grid in enumerate(_GRIDS):
        for stretch, place in _candidates(stack, grid, partial(_tell_part, tell, number)):
            found = _look_closely(fields[stretch], place)
            if best is None or found[0] > best[0]:
                best = found
        if best is not None and best[0] > SEARCH_LIMIT:
            # It lies in all of them at the same place.
            return Sighting(best[0], best[1], _read(fields, best[1], keys))
    return None


def _tell_part(tell: Callable[[float], None], number: int, share: float) -> None:
    tell((number + share) / len(_GRIDS))


def _candidates(stack: Field, grid: Grid, tell: Callable[[float], None]) -> list[tuple[int, Place]]:
    """The places with the highest correlations, of all sizes, each with the stretch that has it.

    One that stands out as no chance does ends it.
    """
    found: list[tuple[float, int, Place]] = []
    before = 0.0
    for step in range(_SCALES):
        peaks = list(_peaks(stack, grid, grid.rows * _FEWEST * _STEP**step))
        found += peaks
        tell((step + 1) / _SCALES)
        highest = max(height for height, _, _ in peaks)
        if before > max(_SURE, highest):
            break  # the size before was it
        before = highest
    found.sort(key=lambda entry: -entry[0])
    return [(stretch, place) for _, stretch, place in found[:_CANDIDATES]]


def _peaks(stack: Field, grid: Grid, cells: float) -> Iterator[tuple[float, int, Place]]:
    """The best places for so many cells along the short side of (h, w, stretches), on either raster: how high
    in standard deviations, and in which stretch."""
    pixels = min(stack.shape[:2]) / cells  # a cell, in the field
    for shift in (0, round(pixels / 2)):
        part = stack[shift:, shift:]
        rows, columns = (int(extent / pixels) for extent in part.shape[:2])
        part = part[: round(rows * pixels), : round(columns * pixels)]
        images = cv2.resize(part, (columns, rows), interpolation=cv2.INTER_AREA)
        shape = _fast(max(rows, grid.rows)), _fast(max(columns, grid.columns))
        images = images.reshape(rows, columns, -1)
        for stretch in range(images.shape[2]):
            height, top, left = _highest(np.ascontiguousarray(images[..., stretch]), grid, shape)
            yield height, stretch, Place(grid, cells, left - shift / pixels, top - shift / pixels)


def _highest(image: Field, grid: Grid, shape: tuple[int, int]) -> tuple[float, int, int]:
    """Height in standard deviations, row and column of the highest correlation with any epoch."""
    patterns, power = _spectra(grid, shape)
    spectrum = np.conj(rfft2(image, shape))
    deviation = float(np.sqrt(np.sum(power * np.abs(spectrum) ** 2))) / (shape[0] * shape[1])
    height, where = -np.inf, 0
    for few in patterns.reshape(-1, _AT_ONCE, *patterns.shape[1:]):
        surface = irfft2(spectrum * few, shape)
        at = int(surface.argmax())
        if surface.flat[at] > height:
            height, where = float(surface.flat[at]), at % (shape[0] * shape[1])
    top, left = (
        _signed(i, n, p) for i, n, p in zip(divmod(where, shape[1]), shape, image.shape, strict=True)
    )
    return height / max(deviation, 1e-9), top, left


def _fast(length: int) -> int:
    """A length, a few more, for which the FFT is fast, and of which there are not too many different ones."""
    fast: int = next_fast_len(-(-length // _ROUND) * _ROUND, real=True)
    return fast


def _signed(index: int, length: int, extent: int) -> int:
    """A shift that wrapped round, as the least one that overlaps: negative where the picture was padded."""
    return index if index < length - extent // 2 else index - length


@lru_cache(maxsize=64)
def _spectra(grid: Grid, shape: tuple[int, int]) -> tuple[npt.NDArray[np.complex64], npt.NDArray[np.float32]]:
    """(epochs, …) spectra of the presence at one sample a cell, and their mean power, each frequency as often
    as a real picture has it."""
    patterns = np.stack([presence_signs(grid, epoch) for epoch in range(EPOCHS)]).astype(np.float32)
    spectra: npt.NDArray[np.complex64] = rfft2(patterns, shape).astype(np.complex64)
    power = (np.abs(spectra) ** 2).mean(axis=0)
    power[:, 1 : (shape[1] + 1) // 2] *= 2
    return spectra, power


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
        if step < 0.5 and best[0] < _PROMISING * SEARCH_LIMIT:
            break
        # It grows about the middle of what was received, which stays where it is.
        down, across = (place.cells * extent / (2 * min(field.shape)) for extent in field.shape)
        ratio = 1.5 * step / place.grid.columns  # half a step of the search in size, at first
        for grow in (1 - 2 * ratio, 1 - ratio, 1, 1 + ratio, 1 + 2 * ratio):
            for right in (-step, 0, step):
                for lower in (-step, 0, step):
                    moved = _moved(place, grow, right + across * (1 - grow), lower + down * (1 - grow))
                    score = _score(field, moved)
                    if score > best[0]:
                        best = score, moved
        place = best[1]
    return best


def _moved(place: Place, grow: float, right: float, lower: float) -> Place:
    return Place(place.grid, place.cells * grow, place.left + right, place.top + lower)


def _read(fields: Sequence[Field], place: Place, keys: Sequence[WatermarkKey]) -> Payload | None:
    """What the first of the keys that fits reads from all stretches together."""
    sums = [_cells_at(field, place).reshape(-1) for field in fields]
    signs = _signs(place.grid)
    stretches = [(int(np.argmax(signs @ x)), x) for x in sums]
    return read_by(keys, partial(bit_scores, place.grid, stretches))
