"""Sample a picture through affine maps: OpenCV samples the planes, one pass converts them."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.cpu.scratch import Plane, scratch
from livefusion.ops.cpu.tensor import write_tensor
from livefusion.ops.reference.warp import Layout, Order, inverses
from livefusion.ops.yuv import chroma_origin

_FLAGS = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP


def _footprint(back: npt.NDArray[np.float64], width: int, height: int, plane: Plane) -> tuple[slice, slice]:
    """The part of a plane that a (height, width) output can see through the map from output to plane."""
    corners = np.array([[0, 0, 1], [width - 1, 0, 1], [0, height - 1, 1], [width - 1, height - 1, 1]])
    points = corners @ back.T
    limit = np.array([plane.shape[1] - 1, plane.shape[0] - 1])
    # One pixel of margin on each side: rounding inside OpenCV must not meet the border of the cut.
    low = np.clip(np.floor(points.min(axis=0)) - 1, 0, limit).astype(int)
    high = np.clip(np.ceil(points.max(axis=0)) + 1, 0, limit).astype(int) + 1
    return slice(low[1], high[1]), slice(low[0], high[0])


def _sample(plane: Plane, back: npt.NDArray[np.float64], out: Plane) -> None:
    cv2.warpAffine(plane, back, out.shape[::-1], dst=out, flags=_FLAGS, borderMode=cv2.BORDER_REPLICATE)


def nv12_warp_norm(
    luma: Plane,
    chroma: Plane,
    out: npt.NDArray[np.floating],
    *,
    matrices: Sequence[Affine],
    color: ColorInfo,
    mean: Any = 0.0,
    scale: Any = 1.0,
    layout: Layout = "chw",
    order: Order = "rgb",
) -> None:
    """Sample NV12 through affine maps and normalise; see ``livefusion.ops.reference.warp``."""
    for tensor, back in zip(out, inverses(matrices, out), strict=True):
        height, width = tensor.shape[-2:] if layout == "chw" else tensor.shape[:2]
        planes = _warp(luma, chroma, back, (height, width), color)
        target = tensor if out.dtype == np.float32 else _wide(tensor.shape)
        write_tensor(planes, target, color=color, mean=mean, scale=scale, layout=layout, order=order)
        if target is not tensor:
            tensor[...] = target


def _wide(shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    return scratch("warp wide", *shape[:-1], shape[-1] * 4).view(np.float32)


def _warp(
    luma: Plane, chroma: Plane, back: npt.NDArray[np.float64], size: tuple[int, int], color: ColorInfo
) -> tuple[Plane, Plane, Plane]:
    height, width = size
    planes = (
        scratch("warp y", height, width),
        scratch("warp cb", height, width),
        scratch("warp cr", height, width),
    )
    _sample(luma, back, planes[0])

    # OpenCV samples single planes exactly and fast, but pairs to 1/32 pixel and at thrice the cost of a plane
    # (measured, 256x256: 0.08 against 0.27 ms): so the part of the chroma in view is split first.
    origin = np.array(chroma_origin(color.siting))
    back = np.column_stack([back[:, :2], back[:, 2] - origin]) / 2
    rows, columns = _footprint(back, width, height, chroma)
    seen = chroma[rows, columns]
    back[:, 2] -= (columns.start, rows.start)
    for channel in (0, 1):
        single = scratch("warp chroma", *seen.shape[:2])
        cv2.extractChannel(seen, channel, dst=single)
        _sample(single, back, planes[1 + channel])
    return planes
