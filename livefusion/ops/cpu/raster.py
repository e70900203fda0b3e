"""Drawing a textured mesh on the CPU: one span of pixels for each row of each triangle.

Depth, texel and weight are affine over a triangle, so a span costs four additions a pixel; testing
every pixel of the triangle's box against three edges takes about twice as long.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.scratch import scratch
from livefusion.ops.reference.raster import EDGE_TOLERANCE, SMALLEST_AREA, check_texture

_BYTES = 4 * (2 + 1 + 1)
"""Of a pixel's texel, weight and depth."""


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
    """Draw a textured mesh into a patch; contract in ``reference.raster``.

    Texels are looked up when all triangles are drawn: looked up span by span, they take a third longer for a
    face of 170 pixels and half as long again for one of 450.
    """
    check_texture(texture.shape)
    height, width = patch.shape[:2]
    block = scratch("draw_mesh", _BYTES * height * width).view(np.float32).reshape(4, height, width)
    texels, cover, zbuffer = block[:2].reshape(height, width, 2), block[2], block[3]
    raster_uv(
        vertices=vertices,
        depth=depth,
        uv=uv,
        weight=weight,
        triangles=triangles,
        map=texels,
        cover=cover,
        zbuffer=zbuffer,
    )
    sample_uv(map=texels, cover=cover, texture=texture, patch=patch)


def raster_uv(
    *,
    vertices: npt.NDArray[np.float32],
    depth: npt.NDArray[np.float32],
    uv: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    triangles: npt.NDArray[np.int32],
    map: npt.NDArray[np.float32],
    cover: npt.NDArray[np.float32],
    zbuffer: npt.NDArray[np.float32],
) -> None:
    """The first half of ``draw_mesh``, for whoever changes something between the two.

    Writes the texel of each pixel into ``map`` (h, w, 2) float32 and its weight in [0, 1] into ``cover``
    (h, w) float32, 0 where nothing is drawn; there ``map`` keeps what it held. ``zbuffer`` (h, w) float32 is
    scratch.
    """
    _draw(vertices, depth, uv, weight, triangles, map, cover, zbuffer)


def sample_uv(
    *,
    map: npt.NDArray[np.float32],
    cover: npt.NDArray[np.float32],
    texture: npt.NDArray[np.uint8],
    patch: npt.NDArray[np.uint8],
) -> None:
    """The second half of ``draw_mesh``: look up the texels of a map where its cover is above 0."""
    _sample(map, cover, texture, patch)


@njit(cache=True, nogil=True)
def _span(corners: tuple[float, ...], area: float, y: int, width: int) -> tuple[int, int]:
    """First and last column of row ``y`` whose centres lie in the triangle, within the tolerance."""
    x0, y0, x1, y1, x2, y2 = corners
    low, high = 0.0, float(width - 1)
    for slope, offset in (
        ((y1 - y2) / area, ((x2 - x1) * (y - y2) - (y1 - y2) * x2) / area),
        ((y2 - y0) / area, ((x0 - x2) * (y - y2) - (y2 - y0) * x2) / area),
        ((y0 - y1) / area, 1.0 - ((x0 - x1) * (y - y2) - (y1 - y0) * x2) / area),
    ):
        # slope · x + offset is the share of one corner in pixel x.
        if slope > 0.0:
            low = max(low, (-EDGE_TOLERANCE - offset) / slope)
        elif slope < 0.0:
            high = min(high, (-EDGE_TOLERANCE - offset) / slope)
        elif offset < -EDGE_TOLERANCE:
            return 1, 0
    if low > high:
        return 1, 0
    return math.ceil(low), math.floor(high)


@njit(cache=True, nogil=True)
def _draw(  # noqa: PLR0917 numba takes no keyword-only arguments
    vertices: npt.NDArray[np.float32],
    depth: npt.NDArray[np.float32],
    uv: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    triangles: npt.NDArray[np.int32],
    texels: npt.NDArray[np.float32],
    cover: npt.NDArray[np.float32],
    zbuffer: npt.NDArray[np.float32],
) -> None:
    """``raster_uv`` without keywords."""
    height, width = cover.shape
    cover[:] = 0.0
    zbuffer[:] = np.inf
    for index in range(triangles.shape[0]):
        a, b, c = triangles[index, 0], triangles[index, 1], triangles[index, 2]
        x0, y0 = float(vertices[a, 0]), float(vertices[a, 1])
        x1, y1 = float(vertices[b, 0]), float(vertices[b, 1])
        x2, y2 = float(vertices[c, 0]), float(vertices[c, 1])
        area = (y1 - y2) * (x0 - x2) + (x2 - x1) * (y0 - y2)
        if not abs(area) >= SMALLEST_AREA:
            continue
        ax, ay = (y1 - y2) / area, (x2 - x1) / area
        bx, by = (y2 - y0) / area, (x0 - x2) / area
        z_a, z_b, z_c = depth[a] - depth[c], depth[b] - depth[c], depth[c]
        u_a, u_b, u_c = uv[a, 0] - uv[c, 0], uv[b, 0] - uv[c, 0], uv[c, 0]
        v_a, v_b, v_c = uv[a, 1] - uv[c, 1], uv[b, 1] - uv[c, 1], uv[c, 1]
        w_a, w_b, w_c = weight[a] - weight[c], weight[b] - weight[c], weight[c]
        dz, du = z_a * ax + z_b * bx, u_a * ax + u_b * bx
        dv, dw = v_a * ax + v_b * bx, w_a * ax + w_b * bx
        top = max(0, math.floor(min(y0, y1, y2)))
        bottom = min(height - 1, math.ceil(max(y0, y1, y2)))
        for y in range(top, bottom + 1):
            first, last = _span((x0, y0, x1, y1, x2, y2), area, y, width)
            share_a = ax * (first - x2) + ay * (y - y2)
            share_b = bx * (first - x2) + by * (y - y2)
            z = z_c + share_a * z_a + share_b * z_b
            u = u_c + share_a * u_a + share_b * u_b
            v = v_c + share_a * v_a + share_b * v_b
            w = w_c + share_a * w_a + share_b * w_b
            for x in range(first, last + 1):
                if z < zbuffer[y, x]:
                    zbuffer[y, x] = z
                    texels[y, x, 0] = u
                    texels[y, x, 1] = v
                    cover[y, x] = min(max(w, 0.0), 1.0)
                z += dz
                u += du
                v += dv
                w += dw


@njit(cache=True, nogil=True, fastmath=True)
def _sample(
    texels: npt.NDArray[np.float32],
    cover: npt.NDArray[np.float32],
    texture: npt.NDArray[np.uint8],
    patch: npt.NDArray[np.uint8],
) -> None:
    """``sample_uv`` without keywords."""
    height, width = cover.shape
    last_x, last_y = np.float32(texture.shape[1] - 1), np.float32(texture.shape[0] - 1)
    zero, one, half = np.float32(0), np.float32(1), np.float32(0.5)
    for y in range(height):
        for x in range(width):
            share = cover[y, x]
            if share <= zero:
                patch[y, x] = 0
                continue
            u = min(max(texels[y, x, 0], zero), last_x)
            v = min(max(texels[y, x, 1], zero), last_y)
            left = min(int(u), texture.shape[1] - 2)
            top = min(int(v), texture.shape[0] - 2)
            right_share, lower_share = u - np.float32(left), v - np.float32(top)
            w11 = right_share * lower_share
            w01, w10 = right_share - w11, lower_share - w11
            w00 = one - right_share - w10
            alpha = (
                w00 * texture[top, left, 3]
                + w01 * texture[top, left + 1, 3]
                + w10 * texture[top + 1, left, 3]
                + w11 * texture[top + 1, left + 1, 3]
            )
            opaque = np.uint8(alpha * share + half)
            if opaque == 0:
                patch[y, x] = 0
                continue
            for channel in range(3):
                patch[y, x, channel] = np.uint8(
                    w00 * texture[top, left, channel]
                    + w01 * texture[top, left + 1, channel]
                    + w10 * texture[top + 1, left, channel]
                    + w11 * texture[top + 1, left + 1, channel]
                    + half
                )
            patch[y, x, 3] = opaque
