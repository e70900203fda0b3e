"""Pictures and expected tensors for the tests of preprocessing."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.ops.preprocess import Normalisation, Nv12
from livefusion.ops.reference.convert import rgb_to_nv12
from livefusion.ops.reference.letterbox import letterbox_nv12

PHOTO = Path(__file__).parents[2] / "models/performer/first.webp"
Tensor = npt.NDArray[np.float32]


class CudaByName(CpuDevice):
    """What only asks a device for its name takes this one for the second GPU."""

    @property
    def name(self) -> str:
        return "cuda:1"


def noise(width: int, height: int, color: ColorInfo, seed: int = 0) -> Nv12:
    """The hardest content for whoever interpolates."""
    rng = np.random.default_rng(seed)
    luma = rng.integers(0, 256, (height, width), np.uint8)
    return Nv12(luma, rng.integers(0, 256, (height // 2, width // 2, 2), np.uint8), color)


def photo(width: int, height: int, color: ColorInfo) -> Nv12:
    """A face, stretched to the size."""
    rgb = cv2.cvtColor(cv2.imread(str(PHOTO)), cv2.COLOR_BGR2RGB)
    rgb = cv2.resize(rgb, (width, height), interpolation=cv2.INTER_AREA)
    luma = np.empty((height, width), np.uint8)
    chroma = np.empty((height // 2, width // 2, 2), np.uint8)
    rgb_to_nv12(rgb, luma, chroma, color=color)
    return Nv12(luma, chroma, color)


def on_device(device: Device, picture: Nv12, stream: Any) -> Nv12:
    """The picture in memory of the device, copied in stream order."""
    luma = device.empty(picture.luma.shape, np.uint8)
    chroma = device.empty(picture.chroma.shape, np.uint8)
    device.copy(luma, picture.luma, stream)
    device.copy(chroma, picture.chroma, stream)
    return Nv12(luma, chroma, picture.color)


def expected(pictures: list[Nv12], height: int, width: int, how: Normalisation) -> Tensor:
    """What the reference of the letterbox makes of each picture."""
    out = np.full((len(pictures), 3, height, width), np.nan, np.float32)
    for picture, tensor in zip(pictures, out, strict=True):
        letterbox_nv12(
            picture.luma,
            picture.chroma,
            tensor,
            color=picture.color,
            mean=how.mean,
            scale=how.scale,
            order=how.order,
        )
    return out
