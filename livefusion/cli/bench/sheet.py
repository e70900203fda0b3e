"""A contact sheet: many pictures on one, for people to look at."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

_WIDTH = 480


def write_sheet(path: Path, pictures: Sequence[npt.NDArray[np.uint8]], columns: int = 3) -> None:
    """Write (h, w, 3) RGB pictures of one shape, reduced, as a PNG; nothing if there are none."""
    if not pictures:
        return
    height, width = pictures[0].shape[:2]
    size = (_WIDTH, round(_WIDTH * height / width))
    tiles = [cv2.resize(picture, size, interpolation=cv2.INTER_AREA) for picture in pictures]
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    rows = [np.hstack(tiles[first : first + columns]) for first in range(0, len(tiles), columns)]
    cv2.imwrite(str(path), cv2.cvtColor(np.vstack(rows).astype(np.uint8), cv2.COLOR_RGB2BGR))
