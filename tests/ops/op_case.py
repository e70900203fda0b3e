"""What a table of cases for the conformance test is made of.

A module ``cases_*.py`` in this folder has a list ``CASES``; ``test_conformance.py`` finds it by its name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range, Siting
from livefusion.devices.device import BodyKind
from livefusion.ops.registry import OperatorSpec
from livefusion.testing.host_twin import HostTwin, compiler

Arguments = dict[str, Any]
Masks = Mapping[str, npt.NDArray[np.bool_]]

COLOURS = [ColorInfo(m, r, siting=s) for m in Matrix for r in Range for s in Siting]


@dataclass(frozen=True)
class Case:
    """Arguments of an operator, and what its bodies must agree on.

    ``make`` gives fresh arguments for a random generator; ``tolerance`` is the largest difference allowed in
    any element that the operator writes, except for a share of ``outliers``; ``may_change`` gives for written
    arguments the elements that may change at all (all of them, if left out): every other one must keep its
    bits.
    """

    name: str
    operator: OperatorSpec
    make: Callable[[np.random.Generator], Arguments]
    tolerance: float = 0.0
    may_change: Callable[[Arguments], Masks] | None = None
    outliers: float = 0.0


@cache
def twin() -> HostTwin:
    """The host twin of the kernels."""
    return HostTwin()


def body_of(operator: OperatorSpec, kind: BodyKind) -> Callable[..., None]:
    """The body of an operator; that for CUDA runs its kernels on the host twin."""
    if kind != "cuda":
        return operator.body(kind)
    if compiler() is None:
        pytest.skip("no C++ compiler for the host twin")
    return partial(operator.body(kind), twin())


def picture(rng: np.random.Generator, width: int, height: int) -> Arguments:
    """``luma`` and ``chroma`` of noise: the hardest content for whoever interpolates."""
    return {
        "luma": rng.integers(0, 256, (height, width), np.uint8),
        "chroma": rng.integers(0, 256, (height // 2, width // 2, 2), np.uint8),
    }


def box_mask(arguments: Arguments, x: int, y: int, width: int, height: int) -> Masks:
    """The elements of ``luma`` and ``chroma`` in a box of even numbers, cut at the picture's edge."""
    luma = np.zeros(arguments["luma"].shape, bool)
    left, top, right, bottom = max(0, x), max(0, y), max(0, x + width), max(0, y + height)
    luma[top:bottom, left:right] = True
    chroma = np.zeros((luma.shape[0] // 2, luma.shape[1] // 2, 2), bool)
    chroma[top // 2 : bottom // 2, left // 2 : right // 2] = True
    return {"luma": luma, "chroma": chroma}


def padded(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same values with padding behind each row, as a device with a pitch lays them out."""
    wide = np.zeros((array.shape[0], array.shape[1] + 6, *array.shape[2:]), array.dtype)
    wide[:, : array.shape[1]] = array
    return wide[:, : array.shape[1]]
