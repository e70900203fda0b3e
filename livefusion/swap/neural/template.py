"""Where networks expect eyes, nose and mouth in their crops."""

from typing import Final

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]

# Shares of the side of a crop: left eye, right eye, nose tip, left and right corner of the mouth, as they lie
# in the picture. Numbers are those that the networks were trained with, as published by their authors.
_SHARES: Final = {
    "arcface_112_v1": (
        *(0.35473214, 0.45658929, 0.64526786, 0.45658929, 0.50000000, 0.61154464),
        *(0.37913393, 0.77687500, 0.62086607, 0.77687500),
    ),
    "arcface_112_v2": (
        *(0.34191607, 0.46157411, 0.65653393, 0.45983393, 0.50022500, 0.64050536),
        *(0.37097589, 0.82469196, 0.63151696, 0.82325089),
    ),
    "arcface_128": (
        *(0.36167656, 0.40387734, 0.63696719, 0.40235469, 0.50019687, 0.56044219),
        *(0.38710391, 0.72160547, 0.61507734, 0.72034453),
    ),
    "dfl_whole_face": (
        *(0.35342266, 0.39285716, 0.62797622, 0.39285716, 0.48660713, 0.54017860),
        *(0.38839287, 0.68750011, 0.59821427, 0.68750011),
    ),
    "ffhq_512": (
        *(0.37691676, 0.46864664, 0.62285697, 0.46912813, 0.50123859, 0.61331904),
        *(0.39308822, 0.72541100, 0.61150205, 0.72490465),
    ),
    "mtcnn_512": (
        *(0.36562865, 0.46733799, 0.63305391, 0.46585885, 0.50019127, 0.61942959),
        *(0.39032951, 0.77598822, 0.61178945, 0.77476328),
    ),
}
TEMPLATES: Final = tuple(_SHARES)
"""Their names."""


def template(name: str, size: int) -> Points:
    """(5, 2) places in a crop of that many pixels, integer pixel centres as in OpenCV, which trained them."""
    points: Points = np.array(_SHARES[name], np.float64).reshape(5, 2) * size
    return points
