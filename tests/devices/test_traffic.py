"""The counter tells what kernels and copies touch, and no more."""

from typing import Any

import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Operator
from livefusion.ops.registry import (
    BLEND_MATCHED,
    BLEND_YUVA,
    BLUR_REGION,
    DRAW_MESH,
    LETTERBOX_NV12,
    MASK_FEATHER,
    MEASURE_DETAIL,
    NV12_WARP_NORM,
    OCCLUDE,
    OCCLUSION_TRACK,
    SOFTEN_PATCH,
)
from livefusion.testing.traffic import TrafficDevice, bytes_moved

pytestmark = pytest.mark.unit

PICTURE = {"luma": np.zeros((80, 120), np.uint8), "chroma": np.zeros((40, 60, 2), np.uint8)}
PATCH = np.zeros((20, 30, 4), np.uint8)
DETAIL = {"detail": np.zeros((3, 6), np.float32)}
COLOURS = DETAIL | {"stats": np.zeros((3, 4), np.float32), "light": np.zeros((3, 4, 3), np.float32)}
MESH = {
    "vertices": np.zeros((9, 2), np.float32),
    "depth": np.zeros(9, np.float32),
    "uv": np.zeros((9, 2), np.float32),
    "weight": np.zeros(9, np.float32),
    "triangles": np.zeros((8, 3), np.int32),
}
COLOR = {"color": ColorInfo()}
CROP = {
    "patch": PATCH,
    "found": np.zeros((16, 16), np.float32),
    "belief": np.zeros((16, 16), np.float32),
    "cover": np.zeros((16, 16), np.uint8),
    "share": np.zeros(1, np.float32),
}


def crop(scale: float, x: float, y: float) -> dict[str, Any]:
    """A square of 10 / scale pixels at a place of the picture."""
    out = np.zeros((2, 3, 10, 10), np.float32)
    return (
        PICTURE | COLOR | {"out": out, "matrices": [Affine([[scale, 0, -scale * x], [0, scale, -scale * y]])]}
    )


@pytest.mark.parametrize(
    ("operator", "arguments", "expected"),
    [
        (LETTERBOX_NV12, PICTURE | COLOR | {"out": np.zeros((3, 8, 8), np.float32)}, 15 * 120 + 768),
        (LETTERBOX_NV12, PICTURE | COLOR | {"out": np.zeros((3, 40, 60), np.float32)}, 14400 + 28800),
        (NV12_WARP_NORM, crop(0.5, 4, 4), 20 * 20 * 1.5 + 1200),
        (NV12_WARP_NORM, crop(0.5, 110, 4), 20 * 10 * 1.5 + 1200),
        (NV12_WARP_NORM, crop(0.25, 4, 4), 10 * 10 * 12 + 1200),
        (BLEND_YUVA, PICTURE | {"patch": PATCH, "x": 4, "y": 4}, 20 * 30 * 7),
        (BLEND_YUVA, PICTURE | {"patch": PATCH, "x": 100, "y": 70}, 20 * 10 * 7),
        (BLEND_MATCHED, PICTURE | COLOURS | {"patch": PATCH, "x": 4, "y": 4}, 20 * 30 * 7 + 48 + 144 + 72),
        (SOFTEN_PATCH, DETAIL | {"patch": PATCH}, 4 * PATCH.nbytes + 72),
        (MEASURE_DETAIL, PICTURE | DETAIL | {"patch": PATCH, "x": 4, "y": 4, "step": 1}, 600 * 5 + 144),
        (MEASURE_DETAIL, PICTURE | DETAIL | {"patch": PATCH, "x": 4, "y": 4, "step": 10}, 6 * 125 + 144),
        (MASK_FEATHER, {"patch": PATCH, "radius": 2}, 2 * PATCH.nbytes),
        (OCCLUSION_TRACK, CROP, 3 * 1024 + 256 + 4 + 1024),
        (OCCLUDE, CROP, 2 * PATCH.nbytes + 256 + 4),
        (DRAW_MESH, MESH | {"texture": np.zeros((64, 64, 4), np.uint8), "patch": PATCH}, 312 + 600 * 20),
        (DRAW_MESH, MESH | {"texture": np.zeros((8, 8, 4), np.uint8), "patch": PATCH}, 312 + 600 * 4 + 256),
        (BLUR_REGION, PICTURE | {"x": 0, "y": 0, "width": 20, "height": 10, "feather": 2}, 22 * 12 * 4.5),
    ],
)
def test_an_operator_touches(operator: Operator, arguments: dict[str, Any], expected: float) -> None:
    assert bytes_moved(operator, arguments) == expected


def test_a_copy_counts_each_side_on_the_device() -> None:
    device = TrafficDevice(CpuDevice())
    stream = device.stream("s")
    first, other = device.empty((100,), np.uint8), device.empty((100,), np.uint8)
    pinned = device.pinned((100,), np.uint8)
    first.fill(1)
    device.copy(other, first, stream)
    device.copy(pinned, first, stream)
    device.copy(first, pinned, stream)
    device.run(lambda: None, stream, reads=(first,), writes=(other[:10],), name="network")
    assert device.moved == {"s: copy": 400, "s: network": 110}
