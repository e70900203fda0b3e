"""From our pixel coordinates to those of DALI: the only place where the two meet."""

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Affine


def to_half_pixel(matrix: Affine) -> npt.NDArray[np.float32]:
    """A map between integer pixel centres as DALI's ``warp_affine`` takes it, float32 (2, 3).

    There the *corner* of the first pixel is (0, 0) and its centre (½, ½). With x = X − ½ on both sides,
    y = A·x + t becomes Y = A·X + (t + ½ − A·½). Without this, crops of a photo
    that turn and scale are 10 grey levels off on average, with it 0.0004.
    """
    linear, shift = matrix.matrix[:, :2], matrix.matrix[:, 2]
    return np.column_stack((linear, shift + 0.5 - linear @ (0.5, 0.5))).astype(np.float32)
