"""Finding the watermark again, in whatever became of the picture.

Everything is a correlation of what the cells of a stretch of video are lighter or darker than their
surroundings explain, x (``whitening``), with signs s that are −1 or 1: z = Σ s·x / √Σ x². For signs that
have nothing to do with the picture, which is so of every wrong key, z has variance 1 and falls off at least
as fast as a normal distribution does (Hoeffding), whatever the picture shows. How many signs were tried is
known, and the limit rises with it (``threshold``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby, pairwise

import cv2
import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from livefusion.core.geometry import Size
from livefusion.provenance.chips import EPOCH_SECONDS, EPOCHS, Grid, grids_of, presence_signs
from livefusion.provenance.reading import FALSE_ALARM, bit_scores, read_by
from livefusion.provenance.watermark import Payload, WatermarkKey
from livefusion.provenance.whitening import whitened

Plane = npt.NDArray[np.uint8]
Cells = npt.NDArray[np.float32]

CHUNK_SECONDS = 0.5
"""What is summed up at once; an epoch may begin between two chunks."""
WINDOW = 4
"""Chunks of a window, which is judged by itself."""
PHASES = round(EPOCH_SECONDS / CHUNK_SECONDS)
"""Chunks of an epoch."""


def threshold(trials: int) -> float:
    """The z that the best of so many signs exceeds by chance once in 1/``FALSE_ALARM`` videos."""
    return float(norm.isf(FALSE_ALARM / max(1, trials)))


@dataclass(frozen=True, slots=True)
class Alignment:
    """How a video lies to the mark: grid, mirrored or not, and when its epochs begin.

    Chunk k is in epoch ``(first + (k + phase) // PHASES) % EPOCHS``.
    """

    grid: Grid
    mirrored: bool
    first: int
    phase: int

    def epoch_of(self, chunk: int) -> int:
        """The epoch of a chunk."""
        return (self.first + (chunk + self.phase) // PHASES) % EPOCHS


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found: the best ``score`` (z), what it had to exceed, and how many windows did so alone.

    ``payload`` is what the operator's key reads; None without the key, or if it is not sure. ``searched``
    says that it was found only by ``search``: the picture was cropped, or put into another one.
    """

    detected: bool
    score: float
    limit: float
    windows: int
    windows_detected: int
    alignment: Alignment | None
    payload: Payload | None = None
    key_known: bool = False
    searched: bool = False


@dataclass(eq=False)
class ReliefLog:
    """What of a video can be its mark (``whitened``), by chunks of half a second and on every likely grid.

    Pictures are summed as they come and brought to the grids once a chunk: 0.4 ms for 720p, not 8.
    """

    size: Size
    grids: tuple[Grid, ...] = ()
    _cells: dict[Grid, list[Cells]] = field(default_factory=dict)
    _counts: list[int] = field(default_factory=list)
    _whitened: dict[Grid, Cells] = field(default_factory=dict)
    _from: float | None = None
    _sum: Cells | None = None

    def __post_init__(self) -> None:
        self.grids = self.grids or grids_of(self.size)
        self._cells = {grid: [] for grid in self.grids}

    def add(self, luma: Plane, seconds: float) -> None:
        """Take the picture of that media time; the times must not fall."""
        if self._from is None:
            self._from = seconds
        chunk = int((seconds - self._from) // CHUNK_SECONDS)
        if chunk >= len(self._counts):
            self._settle()
            self._counts += [0] * (chunk + 1 - len(self._counts))
        if self._sum is None:
            self._sum = np.zeros(luma.shape, np.float32)
        self._counts[chunk] += 1
        cv2.accumulate(luma, self._sum)

    def _settle(self) -> None:
        """Bring what was summed up to the grids."""
        if self._sum is None or not self._counts:
            return
        for grid, sums in self._cells.items():
            while len(sums) < len(self._counts):
                sums.append(np.zeros((grid.rows, grid.columns), np.float32))
            sums[-1] += cv2.resize(self._sum, (grid.columns, grid.rows), interpolation=cv2.INTER_AREA)
        self._whitened.clear()
        self._sum = None

    @property
    def chunks(self) -> int:
        """How many chunks there are so far."""
        return len(self._counts)

    def sums(self, grid: Grid, *, mirrored: bool) -> Cells:
        """(chunks, rows, columns) of what may be the mark, as much of each chunk as it has pictures."""
        self._settle()
        if grid not in self._whitened:
            chunks = zip(self._cells[grid], self._counts, strict=True)
            self._whitened[grid] = np.stack([_of_chunk(sums, n) for sums, n in chunks])
        sums = self._whitened[grid]
        return np.ascontiguousarray(sums[:, :, ::-1]) if mirrored else sums


def _of_chunk(sums: Cells, pictures: int) -> Cells:
    return whitened(sums / np.float32(max(1, pictures))) * np.float32(pictures**0.5)


@lru_cache(maxsize=8)
def _table(grid: Grid) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """(epochs, cells) signs of the presence, and 1 where there are any."""
    signs = np.stack([presence_signs(grid, epoch).reshape(-1) for epoch in range(EPOCHS)]).astype(np.float32)
    return signs, np.abs(signs)


def detect(log: ReliefLog, keys: Sequence[WatermarkKey] = ()) -> Finding:
    """Look for the mark in a video; ``keys`` are the operator's, by which the payload is read."""
    best: tuple[float, Alignment] | None = None
    counts = dict[tuple[Grid, bool], int]()
    looks = [(grid, mirrored) for grid in log.grids for mirrored in (False, True)]
    windows = max(1, log.chunks // WINDOW)
    for grid, mirrored in looks:
        sums = log.sums(grid, mirrored=mirrored).reshape(log.chunks, -1)
        score, alignment = _whole(sums, grid, mirrored)
        counts[grid, mirrored] = int(np.sum(window_scores(sums, grid) > window_limit(len(looks), windows)))
        if best is None or score > best[0]:
            best = score, alignment
    assert best is not None, "there is at least one grid"
    score, alignment = best
    limit = threshold(len(looks) * EPOCHS * PHASES)
    found = counts[alignment.grid, alignment.mirrored]
    detected = score > limit or max(counts.values()) > 0
    payload = _read(log, alignment, keys) if detected else None
    return Finding(
        detected,
        score,
        limit,
        windows,
        found,
        alignment if detected else None,
        payload,
        bool(keys),
    )


def window_limit(looks: int, windows: int = 1) -> float:
    """What one of so many windows, looked at in so many ways, has to exceed."""
    return threshold(looks * windows * EPOCHS * WINDOW)


def window_scores(sums: npt.NDArray[np.float32], grid: Grid) -> npt.NDArray[np.float64]:
    """(windows,) the best z of each window of (chunks, cells) sums, wherever in it an epoch ends."""
    count = max(1, len(sums) // WINDOW)
    signs, places = _table(grid)
    following = np.roll(np.arange(EPOCHS), -1)
    scores = np.empty(count)
    for number in range(count):
        part = sums[number * WINDOW : (number + 1) * WINDOW]
        before = np.cumsum(part, axis=0)
        after = before[-1] - before
        top = before @ signs.T + (after @ signs.T)[:, following]
        power = (before**2) @ places.T + ((after**2) @ places.T)[:, following]
        scores[number] = np.max(top / np.sqrt(np.maximum(power, 1e-9)))
    return scores


def _whole(sums: npt.NDArray[np.float32], grid: Grid, mirrored: bool) -> tuple[float, Alignment]:
    """The best z of a whole video, and the epochs that gave it."""
    signs, places = _table(grid)
    best, found = -np.inf, Alignment(grid, mirrored, 0, 0)
    for phase in range(PHASES):
        stretches = _stretches(len(sums), phase)
        parts = np.stack([sums[start:stop].sum(axis=0) for start, stop in stretches])
        z = (parts @ signs.T) / np.sqrt(np.maximum((parts**2) @ places.T, 1e-9))
        weights = np.sqrt([stop - start for start, stop in stretches])
        weights /= np.linalg.norm(weights)
        for first in range(EPOCHS):
            epochs = (first + np.arange(len(stretches))) % EPOCHS
            score = float(z[np.arange(len(stretches)), epochs] @ weights)
            if score > best:
                best, found = score, Alignment(grid, mirrored, first, phase)
    return best, found


def _stretches(chunks: int, phase: int) -> list[tuple[int, int]]:
    """First and last chunk, the last not included, of each epoch of a video."""
    edges = [0, *range(PHASES - phase, chunks, PHASES), chunks]
    return [(start, stop) for start, stop in pairwise(edges) if stop > start]


def payload_scores(
    sums: npt.NDArray[np.float32], alignment: Alignment, secret: bytes, start: int = 0
) -> npt.NDArray[np.float64]:
    """(32,) z of each bit over (chunks, cells) sums from chunk ``start`` on; above 0 it reads as 1."""
    chunks = range(len(sums))
    epochs = groupby(chunks, key=lambda chunk: alignment.epoch_of(start + chunk))
    stretches = ((epoch, sums[list(run)].sum(axis=0)) for epoch, run in epochs)
    return bit_scores(alignment.grid, stretches, secret)


def _read(log: ReliefLog, alignment: Alignment, keys: Sequence[WatermarkKey]) -> Payload | None:
    sums = log.sums(alignment.grid, mirrored=alignment.mirrored).reshape(log.chunks, -1)
    return read_by(keys, partial(payload_scores, sums, alignment))
