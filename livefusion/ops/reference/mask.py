"""How much of a patch shows."""

import numpy as np
import numpy.typing as npt


def scale_alpha(*, patch: npt.NDArray[np.uint8], factor: float) -> None:
    """Multiply the alpha of a (h, w, 4) uint8 patch by ``factor`` in [0, 1], rounded to nearest, in place."""
    patch[..., 3] = (patch[..., 3] * factor + 0.5).astype(np.uint8)
