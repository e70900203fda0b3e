"""Comparing sharpness and noise of a patch with the frame's, and making it as soft.

One block measures: a few thousand samples are enough. A thread softens a pixel, along rows, then columns.
"""

import math

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.colour import FIRM_ALPHA
from livefusion.ops.reference.detail import (
    CONTRAST_LIMITS,
    FEWEST_SAMPLES,
    QUANTILE,
    QUANTILE_OF_NORMAL,
    SOFTEST,
    SOFTNESS,
    SURE,
    softening_kernels,
)

_MEASURE = Kernel("lf_measure_detail", VIEW * 3 + "iiiiiffffffff", (256, 1, 1), by_block=True)
_KERNELS = softening_kernels().tobytes()
_SOFTEN = VIEW + f"PPf{len(_KERNELS)}s"
_ROWS, _COLUMNS = Kernel("lf_soften_rows", _SOFTEN), Kernel("lf_soften_columns", _SOFTEN)

_FIRM = math.ceil(FIRM_ALPHA * 255)


def measure_detail(
    kernels: Launcher,
    *,
    patch: Array,
    luma: Array,
    x: int,
    y: int,
    step: int,
    momentum: float,
    noise_momentum: float,
    detail: Array,
) -> None:
    """Compare sharpness and noise of a patch with the frame's; contract in ``reference.detail``."""
    views = *view(patch), *view(luma), *view(detail)
    place = x, y, step, _FIRM, FEWEST_SAMPLES, momentum, noise_momentum
    limits = QUANTILE, QUANTILE_OF_NORMAL, *CONTRAST_LIMITS, SOFTEST, SURE
    kernels.launch(_MEASURE, (1, 1, 1), *views, *place, *limits)


def soften_patch(kernels: Launcher, *, patch: Array, detail: Array) -> None:
    """Blur the colours of a patch by what it lacks of blur; contract in ``reference.detail``."""
    height, width = patch.shape[:2]
    between = kernels.scratch("soften_patch", 4 * height * width)
    values = *view(patch), between, address(detail[2, SOFTNESS:]), SOFTEST, _KERNELS
    kernels.launch(_ROWS, (width, height, 1), *values)
    kernels.launch(_COLUMNS, (width, height, 1), *values)
