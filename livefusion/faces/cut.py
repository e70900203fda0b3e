"""Is this another scene than the last frame's?"""

import cv2
import numpy as np
import numpy.typing as npt

EVERY = 3
"""The detector sees means: every so many of its rows and columns are enough to average again."""
_COLUMNS, _ROWS = 32, 18
# Grey levels of mean change below which a frame is the same scene whatever else, and by how much a cut
# exceeds what has been usual: camera shake and fast motion raise the usual, so they do not trigger for long.
_LEAST_CHANGE = 12.0
_TIMES_USUAL = 3.0
_MEMORY = 0.2
_MEMORY_OF_CUTS = 0.1
# A flash or a lamp changes the light and keeps the structure; between scenes it does not correlate.
_SAME_STRUCTURE = 0.6
_FLAT = 2.0


class CutDetector:
    """Compares thumbnails of frames that follow each other.

    A false alarm costs little, a detection that is waited for, so doubt counts as a cut.
    """

    def __init__(self) -> None:
        self._last: npt.NDArray[np.float32] | None = None
        self._usual = 0.0

    def reset(self) -> None:
        """Forget the last frame."""
        self._last, self._usual = None, 0.0

    def __call__(self, grey: npt.NDArray[np.float32]) -> bool:
        """True if the picture begins another scene than the last one was of.

        ``grey`` is (height, width), 0–255, of a picture that the detector sees; its rows may be every
        ``EVERY``-th of them.
        """
        columns = np.ascontiguousarray(grey[:, ::EVERY])
        thumbnail = cv2.resize(columns, (_COLUMNS, _ROWS), interpolation=cv2.INTER_AREA).astype(np.float32)
        last, self._last = self._last, thumbnail
        if last is None:
            return False
        change = cv2.norm(thumbnail, last, cv2.NORM_L1) / thumbnail.size
        cut = change > max(_LEAST_CHANGE, _TIMES_USUAL * self._usual) and not _same_structure(last, thumbnail)
        self._usual += (_MEMORY_OF_CUTS if cut else _MEMORY) * (change - self._usual)
        return cut


def _same_structure(first: npt.NDArray[np.float32], second: npt.NDArray[np.float32]) -> bool:
    a, b = first - first.mean(), second - second.mean()
    spread = float(a.std()) * float(b.std())
    if min(float(a.std()), float(b.std())) < _FLAT:
        return False
    return float((a * b).mean()) / spread > _SAME_STRUCTURE
