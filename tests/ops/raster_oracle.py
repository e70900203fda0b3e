"""What a patch may hold after a mesh was drawn, whichever way shares are rounded near an edge."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from op_case import Arguments

from livefusion.ops.reference.raster import EDGE_TOLERANCE, SMALLEST_AREA

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Pixels = npt.NDArray[np.uint8]

_STEP = 2.0**-20
"""Sixteen times the rounding of float32."""


@dataclass
class Drawing:
    """Of each triangle and pixel: whether it may, and must, be covered, and what with, how exactly."""

    may: Truths
    must: Truths
    values: Floats
    errors: Floats


def ramps() -> Pixels:
    """A texture that shows where it was looked up: x and y, and nothing more."""
    texture = np.full((256, 256, 4), 255, np.uint8)
    texture[..., 0], texture[..., 1] = np.arange(256), np.arange(256)[:, None]
    return texture


def drawing(mesh: Arguments, height: int, width: int) -> Drawing:
    """(m, h, w) truths and (m, h, w, 4) values (depth, u, v, weight) of each triangle."""
    corners = mesh["vertices"].astype(np.float64)[mesh["triangles"]]
    (x0, y0), (x1, y1), (x2, y2) = np.moveaxis(corners, 0, 2)[..., None, None]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    area = (y1 - y2) * (x0 - x2) + (x2 - x1) * (y0 - y2)
    safe = np.where(area == 0, 1, area)
    first = ((y1 - y2) * (x - x2) + (x2 - x1) * (y - y2)) / safe
    second = ((y2 - y0) * (x - x2) + (x0 - x2) * (y - y2)) / safe
    shares = np.stack([first, second, 1 - first - second])

    low, high = np.floor(corners.min(axis=1)), np.ceil(corners.max(axis=1))
    (left, top), (right, bottom) = low.T[..., None, None], high.T[..., None, None]
    boxed = (x >= left) & (x <= right) & (y >= top) & (y <= bottom)
    side = np.ptp(corners, axis=1).max(axis=1)[:, None, None]
    slack = _STEP * side * (side + 16) / np.abs(safe)
    thin = np.abs(area) - SMALLEST_AREA
    doubt = _STEP * side * side
    may = boxed & (shares >= -EDGE_TOLERANCE - slack).all(axis=0) & (thin > -doubt)
    must = boxed & (shares >= -EDGE_TOLERANCE + slack).all(axis=0) & (thin > doubt)

    of_vertices = np.column_stack([mesh["depth"], mesh["uv"], mesh["weight"]]).astype(np.float64)
    of_corners = of_vertices[mesh["triangles"]]
    values = np.einsum("cmyx,mcv->myxv", shares, of_corners)
    spread = 1 + np.abs(of_corners).max(axis=1)[:, None, None, :]
    return Drawing(may, must, values, (1e-5 + 4 * slack[..., None]) * spread)


def faults(drawn: Drawing, patch: Pixels) -> Truths:
    """The (h, w) pixels, drawn of ``ramps``, that hold what none of the nearest triangles may leave."""
    depth, error = drawn.values[..., 0], drawn.errors[..., 0]
    nearest = np.where(drawn.must, depth + error, np.inf).min(axis=0, initial=np.inf)
    candidates = drawn.may & (depth - error <= nearest)
    alpha, slack = 255 * np.clip(drawn.values[..., 3], 0, 1), 0.501 + 255 * drawn.errors[..., 3]
    texel = np.clip(drawn.values[..., 1:3], 0, 255)
    clear = (patch == 0).all(axis=-1)
    looked_up = (np.abs(patch[..., :2] - texel) <= 0.501 + drawn.errors[..., 1:3]).all(axis=-1)
    visible = (
        looked_up & (patch[..., 2] == 255) & (np.abs(patch[..., 3] - alpha) <= slack) & (patch[..., 3] > 0)
    )
    fits = candidates & (visible | (clear & (alpha <= slack)))
    wrong: Truths = ~(fits.any(axis=0) | (clear & ~drawn.must.any(axis=0)))
    return wrong
