"""Sizes, boxes and affine maps.

Pixel coordinates are (x, y), x to the right, y down, with **integer pixel centres**: the centre of the
top-left pixel is (0, 0). Libraries with half-pixel centres are converted at their border.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int

    @property
    def even(self) -> "Size":
        """The largest size within this one that 4:2:0 chroma can carry."""
        return Size(self.width & ~1, self.height & ~1)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box: left, top, width, height in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the bottom edge."""
        return self.y + self.height

    @property
    def centre(self) -> tuple[float, float]:
        """The (x, y) of the middle."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def area(self) -> float:
        """Area in square pixels; 0 for an empty box."""
        return self.width * self.height if self.width > 0 and self.height > 0 else 0.0

    def grown(self, factor: float) -> "Box":
        """The box with the same centre and its sides multiplied by ``factor``."""
        cx, cy = self.centre
        width, height = self.width * factor, self.height * factor
        return Box(cx - width / 2, cy - height / 2, width, height)

    def clipped(self, size: Size) -> "Box":
        """The part of the box inside a picture; possibly empty."""
        left, top = min(max(self.x, 0.0), size.width), min(max(self.y, 0.0), size.height)
        right, bottom = min(max(self.right, 0.0), size.width), min(max(self.bottom, 0.0), size.height)
        return Box(left, top, max(0.0, right - left), max(0.0, bottom - top))

    def intersection(self, other: "Box") -> "Box":
        """The common part of two boxes; possibly empty."""
        left, top = max(self.x, other.x), max(self.y, other.y)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Box(left, top, max(0.0, right - left), max(0.0, bottom - top))

    def iou(self, other: "Box") -> float:
        """Intersection over union, in [0, 1]."""
        # In plain numbers: this is asked a dozen times a frame.
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        common = width * height if width > 0 and height > 0 else 0.0
        union = self.area + other.area - common
        return common / union if union > 0 else 0.0

    @staticmethod
    def around(points: npt.NDArray[np.floating]) -> "Box":
        """The smallest box round points of shape (n, ≥2)."""
        # Column by column: along rows of two NumPy takes three times as long.
        x, y = points[:, 0], points[:, 1]
        left, top = float(np.minimum.reduce(x)), float(np.minimum.reduce(y))
        return Box(left, top, float(np.maximum.reduce(x)) - left, float(np.maximum.reduce(y)) - top)


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of whole pixels whose edges are even, so that it holds whole 4:2:0 chroma samples."""

    x: int
    y: int
    width: int
    height: int

    @staticmethod
    def covering(box: Box, size: Size, step: int = 2) -> "Region":
        """The smallest region that covers ``box`` inside a picture of even ``size``; possibly empty.

        Its sides lie on multiples of ``step``, which is even, or on the border of the picture.
        """
        box = box.clipped(size)
        left, top = math.floor(box.x / step) * step, math.floor(box.y / step) * step
        if box.width <= 0 or box.height <= 0:
            return Region(left, top, 0, 0)
        right = min(math.ceil(box.right / step) * step, size.width)
        bottom = min(math.ceil(box.bottom / step) * step, size.height)
        return Region(left, top, max(0, right - left), max(0, bottom - top))

    @property
    def empty(self) -> bool:
        """True if the region holds no pixel."""
        return self.width <= 0 or self.height <= 0

    @property
    def luma(self) -> tuple[slice, slice]:
        """Index of the region in the luma plane."""
        return slice(self.y, self.y + self.height), slice(self.x, self.x + self.width)

    @property
    def chroma(self) -> tuple[slice, slice]:
        """Index of the region in a (height/2, width/2, 2) chroma plane."""
        return (
            slice(self.y // 2, (self.y + self.height) // 2),
            slice(self.x // 2, (self.x + self.width) // 2),
        )


class Affine:
    """A 2×3 map from source to destination pixels, float64, integer pixel centres; immutable."""

    __slots__ = ("matrix",)

    def __init__(self, matrix: npt.ArrayLike) -> None:
        values = np.array(matrix, dtype=np.float64)
        if values.shape != (2, 3):
            raise ValueError(f"an affine map is 2×3, not {values.shape}")
        values.flags.writeable = False
        self.matrix: Points = values

    @staticmethod
    def similarity(
        scale: float, angle: float, source: tuple[float, float], to: tuple[float, float]
    ) -> "Affine":
        """Rotate by ``angle`` radians (x towards y), scale, and carry the point ``source`` onto ``to``."""
        cos, sin = scale * math.cos(angle), scale * math.sin(angle)
        x, y = source
        return Affine([[cos, -sin, to[0] - (cos * x - sin * y)], [sin, cos, to[1] - (sin * x + cos * y)]])

    def __call__(self, points: npt.NDArray[np.floating]) -> Points:
        """Map points of shape (n, 2)."""
        mapped: Points = points @ self.matrix[:, :2].T + self.matrix[:, 2]
        return mapped

    def inverse(self) -> "Affine":
        """The map from destination to source; ``ValueError`` if the map is singular."""
        (a, b, x), (c, d, y) = self.matrix.tolist()
        det = a * d - b * c
        if abs(det) < 1e-12:
            raise ValueError("a singular affine map has no inverse")
        a, b, c, d = d / det, -b / det, -c / det, a / det
        return Affine([[a, b, -(a * x + b * y)], [c, d, -(c * x + d * y)]])

    def after(self, first: "Affine") -> "Affine":
        """The map that applies ``first`` and then this one."""
        # Numbers and not arrays: 17 µs of small calls of NumPy become 6, twice a face.
        (a, b, x), (c, d, y) = self.matrix.tolist()
        (e, f, u), (g, h, v) = first.matrix.tolist()
        upper = [a * e + b * g, a * f + b * h, a * u + b * v + x]
        return Affine([upper, [c * e + d * g, c * f + d * h, c * u + d * v + y]])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and bool(np.array_equal(self.matrix, other.matrix))

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def __repr__(self) -> str:
        return f"Affine({self.matrix.tolist()})"
