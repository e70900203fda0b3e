"""Does a network give pictures where it runs? Asked once, on a fixed crop, before it takes over.

Networks in half precision have given black boxes and noise on some versions of ONNX Runtime and some GPUs,
without any error (microsoft/onnxruntime#19437).
"""

import logging
from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.inference.catalog import ModelFile
from livefusion.inference.contract import SwapContract
from livefusion.inference.registry import ModelEntry
from livefusion.inference.session import Session
from livefusion.swap.neural.recipe import Recipe

_log = logging.getLogger(__name__)

LEAST_PSNR_DB: Final = 30.0
"""Of a GPU's answer against the CPU's: half precision has 45 and more where it works."""
LEAST_SPREAD: Final = 1 / 255
"""Standard deviation of an answer, of the full scale: what has less is a box of one colour."""

Floats = npt.NDArray[np.float32]


def widened_after(error: ModelError, model: ModelFile, session: Session) -> ModelEntry | None:
    """A network that failed its test in half precision, in single precision, and the log says so.

    None if it was in single precision already.
    """
    wide = None if session.entry.widened else model.widened(error.problem)
    if wide is not None:
        _log.warning("%s; it runs in fp32", error.problem)
    return wide


def fixed_inputs(contract: SwapContract, recipe: Recipe) -> dict[str, npt.NDArray[np.generic]]:
    """A crop of smooth waves, and somebody's identity: the same ones each time."""
    size = contract.size
    y, x = (np.mgrid[0:size, 0:size] / size).astype(np.float32)
    rgb = np.stack([0.5 + 0.3 * np.sin(5 * x + k) * np.cos(4 * y - k) for k in range(3)], axis=-1)
    image = (rgb - np.array(recipe.mean)) / np.array(recipe.deviation)
    image = image if recipe.layout == "hwc" else image.transpose(2, 0, 1)
    inputs: dict[str, npt.NDArray[np.generic]] = {
        contract.image.name: np.ascontiguousarray(image[None], contract.image.dtype)
    }
    for spec in (contract.identity, contract.morph):
        if spec is not None:
            shape = tuple(axis if isinstance(axis, int) else 1 for axis in spec.shape)
            values = np.random.default_rng(7).normal(0, 1, shape)
            values = values / np.linalg.norm(values) if len(shape) == 2 else np.clip(0.5 + 0.1 * values, 0, 1)
            inputs[spec.name] = values.astype(spec.dtype)
    return inputs


def judge(
    name: str, recipe: Recipe, answer: npt.NDArray[np.floating], wanted: npt.NDArray[np.floating] | None
) -> float | None:
    """See that an answer is a picture, and the one that is ``wanted``; the PSNR in dB, None without it.

    ``ModelError`` if not.
    """
    shown = _shown(answer, recipe)
    if not np.isfinite(answer).all():
        raise ModelError(
            f"{name} gives something that is no picture here", "get another file of it, or use fp32"
        )
    if float(shown.std()) < LEAST_SPREAD:
        raise ModelError(f"{name} gives a box of one colour here", "get another file of it, or use fp32")
    if wanted is None:
        return None
    error = float(np.square(shown - _shown(wanted, recipe)).mean())
    psnr = 10 * float(np.log10(1 / max(error, 1e-12)))
    _log.info("%s: %.1f dB against the CPU", name, psnr)
    if psnr < LEAST_PSNR_DB:
        raise ModelError(
            f"{name} gives another picture here than on the CPU ({psnr:.0f} dB)",
            "use --device cpu, or a file in fp32",
        )
    return psnr


def _shown(answer: npt.NDArray[np.floating], recipe: Recipe) -> npt.NDArray[np.float64]:
    """The picture in [0, 1]."""
    values = answer.astype(np.float64) * recipe.gain + recipe.offset
    return np.clip(values, 0, 1)
