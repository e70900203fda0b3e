"""Make a region unrecognisable."""

import numpy as np

from livefusion.ops.reference.paste import check_even
from livefusion.ops.reference.sampling import Floats, Plane, bilinear, to_byte


def _cell_edges(length: int, cells: int) -> list[int]:
    return [i * length // cells for i in range(cells + 1)]


def _cell_means(plane: Floats, rows: int, columns: int) -> Floats:
    """(rows, columns, c) means of nearly equal cells of a (h, w, c) plane."""
    down, across = _cell_edges(plane.shape[0], rows), _cell_edges(plane.shape[1], columns)
    sums = np.add.reduceat(np.add.reduceat(plane, down[:-1], axis=0), across[:-1], axis=1)
    means: Floats = sums / (np.diff(down)[:, None, None] * np.diff(across)[None, :, None])
    return means


def _coarse(plane: Plane, rows: int, columns: int) -> Floats:
    """The plane as its cell means and smooth ramps between them."""
    height, width, _ = plane.shape
    means = _cell_means(plane.astype(np.float64), rows, columns)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    return bilinear(means, (x + 0.5) * columns / width - 0.5, (y + 0.5) * rows / height - 0.5)


def _cover(height: int, width: int, inner: tuple[float, float, float, float], feather: float) -> Floats:
    """(h, w, 1) strength: 1 in the inner box (left, top, right, bottom), 0 from ``feather`` outside it on."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64) + 0.5
    left, top, right, bottom = inner
    away = np.hypot(
        np.maximum(np.maximum(left - x, x - right), 0), np.maximum(np.maximum(top - y, y - bottom), 0)
    )
    cover: Floats = np.clip(1.0 - away / max(feather, 1), 0.0, 1.0)[..., None]
    return cover


def blur_region(
    luma: Plane, chroma: Plane, *, x: int, y: int, width: int, height: int, cells: int = 8, feather: int = 0
) -> None:
    """Replace a box of NV12 by its mean colours on a coarse grid, in place; nothing finer remains of it.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8; ``x``, ``y``, ``width``, ``height`` and
    ``feather`` are even (``ValueError`` if not). The box is covered completely; round it the cover fades out
    linearly over ``feather`` pixels, by distance from the box. What lies outside the picture is left out.

    The box and its margin, cut at the picture's edge, are divided into about square cells, ``cells`` along
    the longer side (at least 1 and never more than chroma samples). Each cell becomes its mean; between the
    centres of cells the means are interpolated bilinearly, so that no grid is seen. With 8 cells along a
    face SFace, told where its points are, compares the result to the original at a cosine of 0.07; with 14
    at 0.29, where 0.363 means the same person.
    """
    check_even(x, y, width, height, feather)
    left, top = max(0, x - feather), max(0, y - feather)
    right = min(luma.shape[1], x + width + feather)
    bottom = min(luma.shape[0], y + height + feather)
    if width <= 0 or height <= 0 or left >= right or top >= bottom:
        return
    rows, columns = grid_of(right - left, bottom - top, cells)
    for step, plane in ((1, luma[..., None]), (2, chroma)):
        part = plane[top // step : bottom // step, left // step : right // step]
        inner = (x - left) / step, (y - top) / step, (x + width - left) / step, (y + height - top) / step
        cover = _cover(part.shape[0], part.shape[1], inner, feather / step)
        part[:] = to_byte(part + (_coarse(part, rows, columns) - part) * cover)


def grid_of(width: int, height: int, cells: int) -> tuple[int, int]:
    """(rows, columns) of the coarse grid over an area of even size."""
    longer = max(width, height)
    rows = min(max(1, round(cells * height / longer)), height // 2)
    columns = min(max(1, round(cells * width / longer)), width // 2)
    return rows, columns
