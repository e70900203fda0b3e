"""How much of a patch shows: one thread for each pixel."""

from functools import lru_cache

import numpy as np

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view

_SCALE = Kernel("lf_scale_alpha", VIEW + "256s")


def scale_alpha(kernels: Launcher, *, patch: Array, factor: float) -> None:
    """Multiply the alpha of a patch by a factor, in place; contract in ``reference.mask``."""
    kernels.launch(_SCALE, (patch.shape[1], patch.shape[0], 1), *view(patch), _table(factor))


@lru_cache(maxsize=16)
def _table(factor: float) -> bytes:
    """What each alpha becomes; in float32 the GPU would round some of them otherwise."""
    return (np.arange(256) * factor + 0.5).astype(np.uint8).tobytes()
