"""Limbs as rounded cones with light on them."""

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@numba.njit(cache=True)
def draw_limbs(limbs: Floats, light: Floats, alpha: Floats, shade: Floats, depth: Floats) -> None:
    """Draw rounded cones (n, 8): x0, y0, r0, z0, x1, y1, r1, z1, pixels; nearer is larger z.

    ``light`` is a (3,) unit vector. Into (h, w) planes: opacity, light in [0, 1], and nearness, in which
    a cone hides those behind it.
    """
    height, width = alpha.shape
    for limb in limbs:
        x0, y0, r0, z0, x1, y1, r1, z1 = limb
        reach = max(r0, r1) + 1.5
        left, right = max(0, int(min(x0, x1) - reach)), min(width, int(max(x0, x1) + reach) + 1)
        top, bottom = max(0, int(min(y0, y1) - reach)), min(height, int(max(y0, y1) + reach) + 1)
        dx, dy = x1 - x0, y1 - y0
        length = dx * dx + dy * dy + 1e-6
        for y in range(top, bottom):
            for x in range(left, right):
                t = ((x - x0) * dx + (y - y0) * dy) / length
                t = min(1.0, max(0.0, t))
                ox, oy = x - x0 - t * dx, y - y0 - t * dy
                r = r0 + t * (r1 - r0)
                d = np.sqrt(ox * ox + oy * oy)
                cover = min(1.0, max(0.0, r - d + 0.5))
                if cover <= 0:
                    continue
                u = min(1.0, d / r)
                up = np.sqrt(max(0.0, 1 - u * u))
                z = z0 + t * (z1 - z0) + r * up
                if z < depth[y, x] and alpha[y, x] >= cover:
                    continue
                lit = (ox / r) * light[0] + (oy / r) * light[1] + up * light[2]
                depth[y, x] = z
                shade[y, x] = 0.5 + 0.5 * lit
                alpha[y, x] = max(alpha[y, x], cover)
