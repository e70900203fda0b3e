"""The picture that a painted face is painted on: where on it eyes, mouth and the rest of a face lie."""

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import INNER_LIPS, LEFT_EYE, OUTER_LIPS, OVAL, RIGHT_EYE, canonical_mesh
from livefusion.swap.mesh.mask import PAINT_BORDER

Rgba = npt.NDArray[np.uint8]
Colour = tuple[int, int, int, int]

SMALLEST, LARGEST = 256, 4096
_SUBPIXEL_BITS = 4
_FACE: Colour = (235, 235, 240, 90)
_MESH: Colour = (120, 120, 130, 110)
_BORDER: Colour = (30, 90, 220, 220)
_HOLE: Colour = (220, 40, 40, 110)
_HOLE_EDGE: Colour = (220, 40, 40, 255)
_TEXT: Colour = (20, 20, 30, 255)
_HALO: Colour = (255, 255, 255, 255)
_RIGHT_BROW = (70, 63, 105, 66, 107, 55, 65, 52, 53, 46)
_LEFT_BROW = (300, 293, 334, 296, 336, 285, 295, 282, 283, 276)
_REGIONS = (_RIGHT_BROW, _LEFT_BROW, OUTER_LIPS)
_LABELS: tuple[tuple[str, int, float, float], ...] = (  # text, vertex, shift by shares of the side
    ("forehead", 151, 0.0, -0.05),
    ("brow", 105, 0.0, -0.035),
    ("brow", 334, 0.0, -0.035),
    ("eye: open", 145, 0.0, 0.03),
    ("eye: open", 374, 0.0, 0.03),
    ("nose", 5, 0.0, 0.0),
    ("cheek", 50, 0.0, 0.0),
    ("cheek", 280, 0.0, 0.0),
    ("lips, mouth between them open", 17, 0.0, 0.035),
    ("chin", 152, 0.0, -0.045),
    ("temple", 162, 0.06, 0.0),
    ("temple", 389, -0.06, 0.0),
)
_NOTES = (
    "Paint on a layer of your own, hide this one, export as PNG. What stays transparent is your own skin.",
    "Red: eyes and mouth stay open. Blue: paint fades out towards the outline. Left here is your right.",
)


def draw_template(size: int = 1024) -> Rgba:
    """The (size, size, 4) RGBA layout: mesh lines, regions with names, the holes, and the area used."""
    template = np.zeros((size, size, 4), np.uint8)
    mesh = canonical_mesh()
    places = mesh.texels(size)
    _fill(template, places[list(OVAL)], _FACE)
    thin = max(1, round(size / 1024))
    for triangle in mesh.triangles:
        _outline(template, places[triangle], _MESH, thin)
    for region in _REGIONS:
        _outline(template, places[list(region)], _TEXT, 2 * thin)
    for hole in (RIGHT_EYE, LEFT_EYE, INNER_LIPS):
        _fill(template, places[list(hole)], _HOLE)
        _outline(template, places[list(hole)], _HOLE_EDGE, 2 * thin)
    outline = places[list(OVAL)]
    _outline(template, outline, _BORDER, 2 * thin)
    _dash(template, _shrunk(outline, PAINT_BORDER * size), _BORDER, thin)
    _name_regions(template, places)
    return template


def is_template(rgba: Rgba) -> bool:
    """Whether (side, side, 4) RGBA is a template on which nothing was painted."""
    return SMALLEST <= rgba.shape[0] <= LARGEST and np.array_equal(rgba, draw_template(rgba.shape[0]))


def _name_regions(template: Rgba, places: npt.NDArray[np.float32]) -> None:
    size = template.shape[0]
    for text, vertex, right, down in _LABELS:
        _write(template, text, places[vertex] + (right * size, down * size), size / 1024 * 0.55)
    for number, note in enumerate(_NOTES):
        _write(template, note, np.array([size / 2, (0.03 + 0.028 * number) * size]), size / 1024 * 0.52)


def _write(template: Rgba, text: str, middle: npt.NDArray[np.floating], scale: float) -> None:
    font, thick = cv2.FONT_HERSHEY_SIMPLEX, max(1, round(scale * 2))
    (width, height), _ = cv2.getTextSize(text, font, scale, thick)
    corner = (round(float(middle[0]) - width / 2), round(float(middle[1]) + height / 2))
    halo = max(1, thick)
    for right, down in ((-halo, 0), (halo, 0), (0, -halo), (0, halo)):
        moved = (corner[0] + right, corner[1] + down)
        cv2.putText(template, text, moved, font, scale, _HALO, thick, cv2.LINE_AA)
    cv2.putText(template, text, corner, font, scale, _TEXT, thick, cv2.LINE_AA)


def _fill(template: Rgba, ring: npt.NDArray[np.floating], colour: Colour) -> None:
    cv2.fillPoly(template, [_fixed(ring)], colour, cv2.LINE_AA, _SUBPIXEL_BITS)


def _outline(template: Rgba, ring: npt.NDArray[np.floating], colour: Colour, thick: int) -> None:
    cv2.polylines(template, [_fixed(ring)], True, colour, thick, cv2.LINE_AA, _SUBPIXEL_BITS)


def _dash(template: Rgba, ring: npt.NDArray[np.floating], colour: Colour, thick: int) -> None:
    for start, end in zip(ring[::2], ring[1::2], strict=False):
        cv2.polylines(
            template, [_fixed(np.stack([start, end]))], False, colour, thick, cv2.LINE_AA, _SUBPIXEL_BITS
        )


def _shrunk(ring: npt.NDArray[np.floating], by: float) -> npt.NDArray[np.floating]:
    """A ring whose corners moved towards its middle by so many pixels."""
    inwards = ring.mean(axis=0) - ring
    moved: npt.NDArray[np.floating] = ring + inwards * (by / np.linalg.norm(inwards, axis=1, keepdims=True))
    return moved


def _fixed(points: npt.NDArray[np.floating] | Sequence[Sequence[float]]) -> npt.NDArray[np.int32]:
    return np.round(np.asarray(points) * (1 << _SUBPIXEL_BITS)).astype(np.int32)
