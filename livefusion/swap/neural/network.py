"""A swap network on a device: fed with crops of frames, told whose face to make, read as crops again."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.frame import Frame
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.contract import SwapContract
from livefusion.inference.network import Loaded
from livefusion.inference.registry import TensorSpec
from livefusion.ops.registry import CROP_OF_TENSOR, LIMIT_ALPHA, NV12_WARP_NORM
from livefusion.swap.neural.bucket import MOST_PICTURES, SIZES, Bucket, takes_any_number, whole
from livefusion.swap.neural.recipe import Recipe
from livefusion.swap.neural.tiles import CHANNELS, TiledPicture

FEATHER_SHARE = 0.05
"""Of the crop's side: the new face fades out so far before the crop ends."""


class SwapNetwork:
    """One network on fixed buffers. Used on one thread and one stream.

    With a ``boost`` of n, a crop has n times the network's pixels a side. It is cut into n² tiles, each with
    every n-th pixel of every n-th row, of which the network makes faces: in one run if it takes as many
    pictures as one likes, else one after another. ``faces`` is how many of a frame are made in a run at most.
    """

    def __init__(
        self,
        device: Device,
        session: Loaded,
        contract: SwapContract,
        recipe: Recipe,
        name: str,
        *,
        boost: int = 1,
        faces: int = 1,
    ) -> None:
        self._device = device
        self._contract = contract
        self._recipe = recipe
        self._tiles = boost * boost
        self._buckets = {
            size: Bucket(device, session, contract, recipe, name, faces=size, boost=boost)
            for size in _sizes(device, contract, faces, self._tiles)
        }
        self._crop = TiledPicture(device, contract.size, boost)
        size = contract.size
        # Kernels write pixels that lie apart; loops of the CPU want them side by side, and are copied.
        copies = boost > 1 and device.shares_host_memory
        self._side_by_side = device.empty((size, size, CHANNELS), np.uint8) if copies else None
        self.crop: Array = self._crop.whole
        """The crop that was read last: Y, Cb, Cr, alpha."""
        self.bad: Array = device.empty((1,), np.int32)
        """Other than 0 if the crop must not be shown."""
        self._no_faults = device.pinned((1,), np.int32)
        self._no_faults[0] = 0
        # Tiles fade out in steps of their own pixels: so what is made of them does as a whole, after.
        self._feather = max(1, round(FEATHER_SHARE * contract.size)) if boost == 1 else 0
        self._fade = None if boost == 1 else _fade(device, self.side)

    @property
    def side(self) -> int:
        """Side of the crop in pixels."""
        return self._crop.side

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of how many faces there are buckets, the largest first."""
        return tuple(self._buckets)

    def bucket(self, faces: int) -> Bucket:
        """The one of a size."""
        return self._buckets[faces]

    def read(self, bucket: Bucket, seat: int, frame: Frame, mask: TiledPicture, stream: Stream) -> None:
        """Bring what the network gave at a seat into ``crop``, with the alpha of a ``mask``, and judge it:
        ``bad``."""
        self._device.copy(self.bad, self._no_faults, stream)
        for tile in range(self._tiles):
            given = {
                name: bucket.given(name, seat, tile)
                for name in (self._contract.picture, self._contract.mask, self._contract.celeb_mask)
                if name is not None
            }
            self._read_tile(tile, given, frame, mask.tile(tile), stream)
        if self._fade is not None:
            self._limit(self._fade, self.crop, stream)

    def _read_tile(
        self, tile: int, given: Mapping[str, Array], frame: Frame, mask: Array, stream: Stream
    ) -> None:
        recipe, contract, place = self._recipe, self._contract, self._crop.tile(tile)
        crop = place if self._side_by_side is None else self._side_by_side
        arguments: dict[str, Any] = {
            "tensor": given[contract.picture],
            "mask": mask,
            "crop": crop,
            "bad": self.bad,
            "color": frame.color,
            "gain": 255 * recipe.gain,
            "offset": 255 * recipe.offset,
            "layout": recipe.layout,
            "order": recipe.order,
            "feather": self._feather,
        }
        self._device.launch(CROP_OF_TENSOR, arguments, stream)
        for name in (contract.mask, contract.celeb_mask):
            if name is not None:
                self._limit(given[name].reshape(crop.shape[:2]), crop, stream)
        if crop is not place:
            self._device.copy(place[..., :CHANNELS], crop, stream)

    def _limit(self, limit: Array, crop: Array, stream: Stream) -> None:
        self._device.launch(LIMIT_ALPHA, {"limit": limit, "crop": crop, "bad": self.bad}, stream)

    def try_out(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], stream: Stream
    ) -> list[npt.NDArray[np.floating]]:
        """Run every bucket on inputs of the host, by name, and wait for a picture of each; also compiles."""
        self._device.prepare(NV12_WARP_NORM, CROP_OF_TENSOR, LIMIT_ALPHA)
        return [bucket.try_out(inputs, stream) for bucket in self._buckets.values()]


def _sizes(device: Device, contract: SwapContract, faces: int, tiles: int) -> tuple[int, ...]:
    """Of which sizes buckets are made.

    On the CPU a run of four takes 0.98 to 1.02 of the time of four runs (convolutions of 0.8 to 11 GFLOP on
    one thread), and the first face would wait for the last: so there they are made one by one.
    """
    if device.shares_host_memory or not takes_any_number(contract):
        return (1,)
    return tuple(size for size in SIZES if size == 1 or (size <= faces and size * tiles <= MOST_PICTURES))


def _fade(device: Device, side: int) -> Array:
    """(side, side) float32: how much a crop keeps towards its edges, as ``CROP_OF_TENSOR`` has it."""
    place = np.arange(side, dtype=np.float32)
    ramp = np.clip(np.minimum(place, side - 1 - place) / max(1, round(FEATHER_SHARE * side)), 0, 1)
    array, stream = device.empty((side, side), np.float32), device.stream("fade")
    device.copy(array, np.minimum(ramp[:, None], ramp[None]).astype(np.float32), stream)
    stream.synchronize()
    return array


def tensor_of(device: Device, values: npt.NDArray[np.float32], spec: TensorSpec, stream: Stream) -> Array:
    """Values of the host as a tensor of the device, in the type that an input takes."""
    array = device.empty(whole(spec), spec.dtype)
    device.copy(array, np.ascontiguousarray(values.reshape(array.shape), spec.dtype), stream)
    return array
