"""Faults on purpose, one byte or one number each; ``test_kernel_sanitizers.py`` looks that each is caught.

Named so that they are not collected with the other tests: they end the process.
"""

from typing import Any

import numpy as np

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.registry import LETTERBOX_NV12, MASK_FEATHER, NV12_WARP_NORM, RGB_TO_NV12
from livefusion.testing.host_twin import HostTwin

CHROMA = np.zeros((3, 4, 2), np.uint8)


def lacking(*shape: int) -> Any:
    """An array of bytes whose last one is not there."""
    memory = np.zeros(np.prod(shape) - 1, np.uint8)
    return np.lib.stride_tricks.as_strided(memory, shape, np.zeros(shape, np.uint8).strides)


class Stingy(HostTwin):
    """Gives a byte too few."""

    def scratch(self, use: str, size: int) -> int:
        return super().scratch(use, size - 1)


def test_read() -> None:
    out, corner = np.zeros((1, 3, 1, 1), np.float32), Affine([[1, 0, -100], [0, 1, -100]])
    body = NV12_WARP_NORM.body("cuda")
    body(HostTwin(), lacking(6, 8), CHROMA, out, matrices=[corner], color=ColorInfo())


def test_write() -> None:
    rgb = np.zeros((6, 8, 3), np.uint8)
    RGB_TO_NV12.body("cuda")(HostTwin(), rgb, lacking(6, 8), CHROMA.copy(), ColorInfo())


def test_scratch() -> None:
    MASK_FEATHER.body("cuda")(Stingy(), patch=np.zeros((6, 8, 4), np.uint8), radius=1)


def test_number() -> None:
    """A picture wider than the resize counts."""
    luma, chroma, out = (
        np.zeros((2, 70000), np.uint8),
        np.zeros((1, 35000, 2), np.uint8),
        np.zeros((3, 1, 40000), np.float32),
    )
    LETTERBOX_NV12.body("cuda")(HostTwin(), luma, chroma, out, color=ColorInfo())
