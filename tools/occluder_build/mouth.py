"""Mouths that open: the lower lip and the jaw drop, and dark, teeth and tongue show, which cover nothing."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from .layer import Bytes, Floats, Points, noise_plane, to_plane

Fields = Callable[[Points, Points], tuple[Points, Points, Points]]
_CORNERS, _LIPS = (61, 291), (13, 14)


def open_mouth(image: Bytes, points: Floats, rng: np.random.Generator) -> tuple[Bytes, Floats]:
    """The (s, s, 3) face with a mouth opened by chance, and its points (468, 2) moved along."""
    left, right = points[list(_CORNERS)].astype(np.float64)
    half = max(float(np.hypot(*(right - left))) / 2, 2.0)
    across = (right - left) / (2 * half)
    down = np.array([-across[1], across[0]])
    if down[1] < 0:
        down = -down
    upper, lower = points[list(_LIPS)].astype(np.float64)
    seam = upper + (lower - upper) * rng.uniform(0.4, 0.9)
    middle = (left + right) / 2
    sag = float((middle - seam) @ down)
    drop = half * float(rng.uniform(0.15, 1.3))

    def fields(x: Points, y: Points) -> tuple[Points, Points, Points]:
        """How far below the seam, how wide the mouth gapes there, and how far what is there has moved."""
        u = ((x - seam[0]) * across[0] + (y - seam[1]) * across[1]) / half
        below = (x - seam[0]) * down[0] + (y - seam[1]) * down[1] - sag * np.minimum(u * u, 1)
        gape = drop * np.sqrt(np.clip(1 - (u / 0.95) ** 2, 0, 1))
        deep = np.clip((below - gape) / (1.6 * half), 0, 1)
        moved = gape * (1 - deep) + drop * np.exp(-((u / 1.9) ** 2)) * deep
        return below, gape, np.where(below >= 0, moved, 0)

    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(np.float32)
    below, gape, moved = fields(x, y)
    from_x, from_y = ((p - moved * way).astype(np.float32) for p, way in ((x, down[0]), (y, down[1])))
    warped = cv2.remap(image, from_x, from_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    out = warped.astype(np.float32)
    inside = np.clip(np.minimum(below, gape - below) + 0.5, 0, 1) * (gape > 0)
    shown = _inside(rng, (below / np.maximum(gape, 1e-3)).astype(np.float32), float(image.mean()))
    out += (cv2.GaussianBlur(shown, (0, 0), 0.7) - out) * inside[..., None]
    return to_plane(out), _moved(points, fields, down)


def _inside(rng: np.random.Generator, depth: Floats, light: float) -> Floats:
    """(s, s, 3): dark, with a row or two of teeth and a tongue at times; ``depth`` is 0 above, 1 below."""
    side = depth.shape[0]
    dark = np.array([70, 28, 26]) * rng.uniform(0.1, 1.3) * light / 110
    out = (
        np.broadcast_to(dark, (side, side, 3)).astype(np.float32) * noise_plane(rng, side, 8, 0.15)[..., None]
    )
    teeth = np.array([225, 215, 195]) * rng.uniform(0.45, 1.1) * min(light / 110, 1.15)
    tongue = np.array([190, 95, 95]) * rng.uniform(0.5, 1.15) * light / 110
    rough = depth + 0.05 * (noise_plane(rng, side, 6, 1.0) - 1)
    if rng.random() < 0.6:
        out[rough > rng.uniform(0.45, 0.9)] = tongue
    if rng.random() < 0.65:
        out[rough < rng.uniform(0.08, 0.45)] = teeth
    if rng.random() < 0.3:
        out[rough > rng.uniform(0.75, 0.95)] = teeth * 0.85
    return np.asarray(out, np.float32)


def _moved(points: Floats, fields: Fields, down: Points) -> Floats:
    """Points below the seam, where the warp has put them: the warp is undone by steps."""
    to = points.astype(np.float64)
    start_below = fields(to[:, 0], to[:, 1])[0]
    for _ in range(6):
        # Of a point that lay below the seam the place is sought whose source it is.
        _, gape, moved = fields(to[:, 0], to[:, 1])
        step = np.where(start_below >= 0, np.maximum(moved, gape), 0)
        to = points + step[:, None] * down
    return np.asarray(to, np.float32)
