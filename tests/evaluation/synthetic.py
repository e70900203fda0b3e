"""Faces and pictures of which everything is known."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.face import Landmarks
from livefusion.core.geometry import Region
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.tap import Pasted
from livefusion.evaluation.view import FaceView
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, canonical_mesh

SIDE = 240
CENTRE, HEIGHT = (120.0, 120.0), 150.0


def face(shift: tuple[float, float] = (0.0, 0.0)) -> Landmarks:
    """The canonical face in the middle of a picture, irises in the middle of the eyes."""
    vertices = canonical_mesh().vertices.astype(np.float64)
    vertices -= (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    points = vertices * HEIGHT / np.ptp(vertices[:, 1]) + (CENTRE[0] + shift[0], CENTRE[1] + shift[1], 0)
    irises = []
    for outer, inner, ring in ((33, 133, RIGHT_EYE), (263, 362, LEFT_EYE)):
        middle = (points[outer] + points[inner]) / 2
        irises.append(np.repeat(middle[None], 5, axis=0))
        assert ring, "an eye has lids"
    return np.concatenate([points, *irises]).astype(np.float32)


def flat(luma: float = 120, cb: float = 110, cr: float = 150) -> Picture:
    """One colour everywhere."""
    chroma = np.empty((SIDE // 2, SIDE // 2, 2), np.uint8)
    chroma[..., 0], chroma[..., 1] = cb, cr
    return Picture(np.full((SIDE, SIDE), luma, np.uint8), chroma, ColorInfo())


def grainy(sigma: float, seed: int, luma: float = 120) -> Picture:
    """One colour with noise in its luma."""
    noise = np.random.default_rng(seed).normal(0, sigma, (SIDE, SIDE))
    return with_luma(np.asarray(luma + noise))


def with_luma(luma: npt.NDArray[np.floating]) -> Picture:
    """That luma, and skin's chroma."""
    base = flat()
    return Picture(np.clip(np.rint(luma), 0, 255).astype(np.uint8), base.chroma, base.color)


def disc(radius: float = 60.0, feather: float = 6.0) -> Pasted:
    """A round patch over the whole picture's middle."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    away = np.hypot(x - CENTRE[0], y - CENTRE[1])
    alpha = np.clip((radius - away) / feather + 0.5, 0, 1) * 255
    return Pasted(Region(0, 0, SIDE, SIDE), np.rint(alpha).astype(np.uint8))


def view(
    before: Picture,
    after: Picture,
    *,
    was: Landmarks | None = None,
    now: Landmarks | None = None,
    seq: int = 0,
    pasted: tuple[Pasted, ...] | None = None,
    previous: FaceView | None = None,
) -> FaceView:
    """A face; left out, it is the canonical one and stays where it was."""
    was = face() if was is None else was
    return FaceView(0, seq, before, after, was, was if now is None else now, None, pasted, previous)


def chain(
    pairs: Sequence[tuple[Picture, Picture]], faces: Sequence[Landmarks] | None = None
) -> list[FaceView]:
    """The same face in picture after picture."""
    views: list[FaceView] = []
    for seq, (before, after) in enumerate(pairs):
        was = None if faces is None else faces[seq]
        views.append(view(before, after, was=was, seq=seq, previous=views[-1] if views else None))
    return views
