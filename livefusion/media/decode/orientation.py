"""How a stored picture is turned to stand upright: the eight ways of a display matrix."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Size

Plane = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Orientation:
    """Swap rows and columns if ``transpose``, then mirror left-right and top-bottom as asked."""

    transpose: bool = False
    mirror_x: bool = False
    mirror_y: bool = False

    @staticmethod
    def of_matrix(matrix: npt.ArrayLike) -> "Orientation":
        """From a (3, 3) display matrix of a container; angles between right ones go to the nearest.

        The matrix maps a stored point (p, q) to x = a·p + c·q, y = b·p + d·q with rows (a, b), (c, d).
        """
        (a, b), (c, d) = np.asarray(matrix, np.float64)[:2, :2]
        if abs(b) + abs(c) > abs(a) + abs(d):
            return Orientation(True, mirror_x=bool(c < 0), mirror_y=bool(b < 0))
        return Orientation(False, mirror_x=bool(a < 0), mirror_y=bool(d < 0))

    @staticmethod
    def of_frame(frame: Any) -> "Orientation":
        """The orientation that an ``av.VideoFrame`` carries; upright if it carries none."""
        data = frame.side_data.get("DISPLAYMATRIX")
        if data is None:
            return UPRIGHT
        matrix = np.frombuffer(data, np.int32)
        return Orientation.of_matrix(matrix[:9].reshape(3, 3)) if matrix.size >= 9 else UPRIGHT

    @property
    def upright(self) -> bool:
        """True if there is nothing to do."""
        return not (self.transpose or self.mirror_x or self.mirror_y)

    @property
    def mirrored(self) -> bool:
        """True if left and right are exchanged, beside any rotation."""
        return self.transpose ^ self.mirror_x ^ self.mirror_y

    @property
    def rotation(self) -> int:
        """The rotation in degrees clockwise; a mirrored picture is mirrored left-right after it."""
        mirror_x = self.mirror_x ^ self.mirrored
        if self.transpose:
            return 90 if mirror_x else 270
        return 180 if mirror_x else 0

    def size_of(self, stored: Size) -> Size:
        """The size that a stored picture has when it stands upright."""
        return Size(stored.height, stored.width) if self.transpose else stored

    def turn(self, plane: Plane, out: Plane) -> None:
        """Write a (h, w) or (h, w, 2) plane upright into ``out``; h and w are exchanged if transposed."""
        if self.transpose:
            cv2.transpose(plane, out)
            plane = out
        code = _FLIP_CODES[self.mirror_x, self.mirror_y]
        if code is None:
            if plane is not out:
                np.copyto(out, plane)
        else:
            cv2.flip(plane, code, out)


UPRIGHT = Orientation()
_FLIP_CODES = {(False, False): None, (True, False): 1, (False, True): 0, (True, True): -1}
