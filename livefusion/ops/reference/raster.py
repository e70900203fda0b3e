"""Drawing a textured mesh: which texel each pixel shows, then the texels themselves."""

from typing import Any

import numpy as np
import numpy.typing as npt

# A pixel centre this far outside an edge (in barycentric terms) counts as inside: neighbours share edges.
EDGE_TOLERANCE = 1e-4
# A triangle of less than half this many square pixels holds no centre that no neighbour holds.
SMALLEST_AREA = 1e-2


def draw_mesh(
    *,
    vertices: npt.NDArray[np.float32],
    depth: npt.NDArray[np.float32],
    uv: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    triangles: npt.NDArray[np.int32],
    texture: npt.NDArray[np.uint8],
    patch: npt.NDArray[np.uint8],
) -> None:
    """Draw a textured mesh into a patch.

    ``vertices`` is (n, 2) float32 x, y in pixels of the patch, integer pixel centres; ``depth`` (n,) float32,
    smaller is nearer; ``uv`` (n, 2) float32 x, y of each vertex in texels, integer texel centres; ``weight``
    (n,) float32, how much of a vertex shows, cut to [0, 1] where it is interpolated; ``triangles`` (m, 3)
    int32 indices, drawn from both sides; ``texture`` (th, tw, 4) uint8, straight alpha in the last channel,
    both sides ≥ 2 (``ValueError`` if not). Writes ``patch`` (h, w, 4) uint8. The nearest triangle wins, the
    first one on a tie. Where it is, the pixel is its texel, looked up bilinearly, the border's beyond the
    border; alpha is multiplied by the weight; all are rounded to nearest. Where alpha rounds to 0, and where
    no triangle is, all four channels are 0.
    """
    check_texture(texture.shape)
    texels, cover = _texels_of(vertices, depth, uv, weight, triangles, patch.shape[:2])
    patch.fill(0)
    patch[cover > 0] = _looked_up(texels[cover > 0], cover[cover > 0], texture)


def check_texture(shape: tuple[int, ...]) -> None:
    """``ValueError`` if a texture of this shape has no two texels a side."""
    if min(shape[:2]) < 2:
        raise ValueError(f"a texture of {shape[:2]} has no neighbours to interpolate between")


def _texels_of(  # noqa: PLR0917
    vertices: npt.NDArray[np.float32],
    depth: npt.NDArray[np.float32],
    uv: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    triangles: npt.NDArray[np.int32],
    size: tuple[int, ...],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """(h, w, 2) texel and (h, w) weight of each pixel, the latter 0 where nothing is drawn."""
    texels, cover = np.zeros((*size, 2), np.float32), np.zeros(size, np.float32)
    zbuffer = np.full(size, np.inf, np.float32)
    values = np.column_stack([depth, uv, weight]).astype(np.float64)
    for corners in triangles:
        _draw_triangle(vertices[corners].astype(np.float64), values[corners], texels, cover, zbuffer)
    return texels, cover


def _draw_triangle(
    points: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    texels: npt.NDArray[np.float32],
    cover: npt.NDArray[np.float32],
    zbuffer: npt.NDArray[np.float32],
) -> None:
    """Draw one triangle; ``values`` holds depth, u, v and weight of its corners."""
    (x0, y0), (x1, y1), (x2, y2) = points
    area = (y1 - y2) * (x0 - x2) + (x2 - x1) * (y0 - y2)
    if abs(area) < SMALLEST_AREA:
        return
    height, width = cover.shape
    left, top = np.maximum(np.floor(points.min(axis=0)), 0).astype(int)
    right, bottom = np.minimum(np.ceil(points.max(axis=0)) + 1, (width, height)).astype(int)
    if left >= right or top >= bottom:
        return
    ys, xs = np.mgrid[top:bottom, left:right]
    first = ((y1 - y2) * (xs - x2) + (x2 - x1) * (ys - y2)) / area
    second = ((y2 - y0) * (xs - x2) + (x0 - x2) * (ys - y2)) / area
    shares = np.stack([first, second, 1 - first - second], axis=-1)
    drawn = shares @ values
    window = np.s_[top:bottom, left:right]
    wins = (shares >= -EDGE_TOLERANCE).all(axis=-1) & (drawn[..., 0] < zbuffer[window])
    zbuffer[window][wins] = drawn[wins, 0]
    texels[window][wins] = drawn[wins, 1:3]
    cover[window][wins] = np.clip(drawn[wins, 3], 0, 1)


def _looked_up(
    texels: npt.NDArray[np.float32], cover: npt.NDArray[np.float32], texture: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint8]:
    """(n, 4) pixels of (n, 2) texels and (n,) weights."""
    height, width = texture.shape[:2]
    u, v = np.clip(texels[:, 0], 0, width - 1), np.clip(texels[:, 1], 0, height - 1)
    left = np.minimum(u.astype(int), width - 2)
    top = np.minimum(v.astype(int), height - 2)
    right_share, lower_share = (u - left)[:, None], (v - top)[:, None]
    upper: Any = texture[top, left] * (1 - right_share) + texture[top, left + 1] * right_share
    lower: Any = texture[top + 1, left] * (1 - right_share) + texture[top + 1, left + 1] * right_share
    colours = upper * (1 - lower_share) + lower * lower_share
    colours[:, 3] *= cover
    rounded: npt.NDArray[np.uint8] = (colours + 0.5).astype(np.uint8)
    rounded[rounded[:, 3] == 0] = 0
    return rounded
