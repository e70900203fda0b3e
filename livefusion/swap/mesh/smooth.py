"""Smoother skin: blotches and pores are taken out of a texture, edges and features stay.

A guided filter (He, Sun and Tang, "Guided Image Filtering", PAMI 2013), steered by luma: where luma varies by
less than a bound the mean of the neighbourhood is taken, across a stronger edge none of the other side.
"""

from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Identity
from livefusion.swap.mesh.canonical import Floats
from livefusion.swap.mesh.regions import not_bare

# At the full amount: side of the neighbourhood in texels, and deviation in code values of what is still skin.
_SIDE, _DEVIATION = 41, 16.0
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def smoothed(identity: Identity, amount: float) -> Identity:
    """The identity with smoother skin: ``amount`` is 0 for none (the same object) to 1 for very smooth.

    A painted face stays as it is. It takes about 0.3 s.
    """
    if amount <= 0 or identity.painted:
        return identity
    return replace(identity, texture=smooth_skin(identity.texture, amount))


def smooth_skin(texture: npt.NDArray[np.uint8], amount: float) -> npt.NDArray[np.uint8]:
    """An RGBA texture (1024, 1024, 4) with smoother skin; its alpha, brows, lids, nostrils and lips stay."""
    colours = texture[..., :3].astype(np.float32)
    weight = np.asarray(texture[..., 3:] > 0, np.float32)
    side = 1 + 2 * round((_SIDE - 1) / 2 * (0.4 + 0.6 * amount))
    calm = _guided(colours, weight, side, (_DEVIATION * amount) ** 2)
    share = (1 - not_bare()[..., None]) * weight * amount**0.7
    mixed = texture.copy()
    mixed[..., :3] = np.clip(np.rint(colours + (calm - colours) * share), 0, 255)
    return mixed


def _guided(colours: Floats, weight: Floats, side: int, variance: float) -> Floats:
    """(h, w, 3) colours filtered where (h, w, 1) ``weight`` is 1; what is 0 tells nothing."""

    def mean(values: Floats) -> Floats:
        sums = cv2.boxFilter(values * weight, -1, (side, side), normalize=False).reshape(values.shape)
        return np.asarray(sums / count, np.float32)

    count = np.maximum(cv2.boxFilter(weight, -1, (side, side), normalize=False)[..., None], 1)
    guide = np.asarray((colours @ _LUMA)[..., None], np.float32)
    centre, middle = mean(guide), mean(colours)
    spread = mean(guide * guide) - centre * centre
    spread = np.asarray(np.maximum(spread, 0) + variance, np.float32)
    slope = (mean(guide * colours) - centre * middle) / spread
    filtered: Floats = mean(slope) * guide + mean(middle - slope * centre)
    return filtered
