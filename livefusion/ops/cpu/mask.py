"""How much of a patch shows, on the CPU."""

import numpy as np
import numpy.typing as npt


def scale_alpha(*, patch: npt.NDArray[np.uint8], factor: float) -> None:
    """Multiply the alpha of a patch by a factor, in place; contract in ``reference.mask``."""
    table = (np.arange(256) * factor + 0.5).astype(np.uint8)
    patch[..., 3] = table[patch[..., 3]]
