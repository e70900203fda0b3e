"""A swap network on a device: fed with crops of frames, told whose face to make, read as crops again."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.contract import SwapContract
from livefusion.inference.network import BoundNetwork, Loaded
from livefusion.inference.registry import TensorSpec
from livefusion.ops.registry import CROP_OF_TENSOR, LIMIT_ALPHA, NV12_WARP_NORM
from livefusion.swap.neural.recipe import Recipe
from livefusion.swap.neural.tiles import CHANNELS, TiledPicture

FEATHER_SHARE = 0.05
"""Of the crop's side: the new face fades out so far before the crop ends."""


class SwapNetwork:
    """One network on fixed buffers. Used on one thread and one stream.

    With a ``boost`` of n, a crop has n times the network's pixels a side. It is cut into n² tiles, each with
    every n-th pixel of every n-th row, of which the network makes faces: in one run if it takes as many
    pictures as one likes, else one after another.
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
    ) -> None:
        self._device = device
        self._contract = contract
        self._recipe = recipe
        self._boost = boost
        self._tiles = boost * boost
        self._batch = self._tiles if takes_any_number(contract) else 1
        self._network = BoundNetwork(
            device,
            session,
            name,
            (self._batch, *_image_shape(recipe)),
            _output_shapes(contract, recipe, self._batch),
            count=self._tiles // self._batch,
            to_host=False,
            image_name=contract.image.name,
            beside=_beside_shapes(contract, self._batch),
        )
        self._crop = TiledPicture(device, contract.size, boost)
        size = contract.size
        # Kernels write pixels that lie apart; loops of the CPU want them side by side, and are copied.
        copies = boost > 1 and not device.name.startswith("cuda")
        self._side_by_side = device.empty((size, size, CHANNELS), np.uint8) if copies else None
        self.crop: Array = self._crop.whole
        """The crop that the network gave last: Y, Cb, Cr, alpha."""
        self.bad: Array = device.empty((1,), np.int32)
        """Other than 0 if the crop must not be shown."""
        self._no_faults = device.pinned((1,), np.int32)
        self._no_faults[0] = 0
        self._mean = tuple(255 * value for value in recipe.mean)
        self._scale = tuple(1 / (255 * value) for value in recipe.deviation)
        # Tiles fade out in steps of their own pixels: so what is made of them does as a whole, after.
        self._feather = max(1, round(FEATHER_SHARE * contract.size)) if boost == 1 else 0
        self._fade = None if boost == 1 else _fade(device, self.side)

    @property
    def side(self) -> int:
        """Side of the crop in pixels."""
        return self._crop.side

    def tell(self, identity: Array | None, morph: float, stream: Stream) -> None:
        """Have the following runs make the face of an ``identity``, a tensor of the device."""
        if identity is not None and self._contract.identity is not None:
            for target in self._rows(self._contract.identity):
                self._device.copy(target, identity, stream)
        if self._contract.morph is not None:
            for target in self._rows(self._contract.morph):
                self._device.copy(target, np.full(target.shape, morph, target.dtype), stream)

    def run(self, frame: Frame, to_crop: Affine, stream: Stream) -> None:
        """Crop a face of a frame, and make the new one of it; ``to_crop`` leads to pixels of ``crop``."""
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "out": self._network.image,
            "matrices": tuple(tile.after(to_crop) for tile in self._to_tiles()),
            "color": frame.color,
            "mean": self._mean,
            "scale": self._scale,
            "layout": self._recipe.layout,
            "order": self._recipe.order,
        }
        self._device.launch(NV12_WARP_NORM, arguments, stream)
        self._network.launch(stream, self._network.count)

    def read(self, frame: Frame, mask: TiledPicture, stream: Stream) -> None:
        """Bring what the network gave into ``crop``, with the alpha of a ``mask``, and judge it: ``bad``."""
        self._device.copy(self.bad, self._no_faults, stream)
        for tile in range(self._tiles):
            self._read_tile(tile, frame, mask.tile(tile), stream)
        if self._fade is not None:
            self._limit(self._fade, self.crop, stream)

    def _read_tile(self, tile: int, frame: Frame, mask: Array, stream: Stream) -> None:
        recipe, contract, place = self._recipe, self._contract, self._crop.tile(tile)
        crop = place if self._side_by_side is None else self._side_by_side
        arguments: dict[str, Any] = {
            "tensor": self._given(contract.picture, tile),
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
                self._limit(self._given(name, tile).reshape(crop.shape[:2]), crop, stream)
        if crop is not place:
            self._device.copy(place[..., :CHANNELS], crop, stream)

    def _limit(self, limit: Array, crop: Array, stream: Stream) -> None:
        self._device.launch(LIMIT_ALPHA, {"limit": limit, "crop": crop, "bad": self.bad}, stream)

    def _to_tiles(self) -> list[Affine]:
        """From pixels of the crop to those of each tile."""
        step = self._boost
        return [
            Affine([[1 / step, 0, -x / step], [0, 1 / step, -y / step]])
            for y in range(step)
            for x in range(step)
        ]

    def _given(self, name: str, tile: int) -> Array:
        """What the network gave for a tile."""
        given = self._network.kept(name, tile // self._batch)
        return given[tile % self._batch]

    def _rows(self, spec: TensorSpec) -> list[Array]:
        """What is told beside each picture, one (1, …) part of an input each."""
        array = self._network.beside[spec.name]
        rows = array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
        return [rows[index : index + 1] for index in range(len(rows))]

    def try_out(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], stream: Stream
    ) -> npt.NDArray[np.floating]:
        """Run on inputs of the host, by name, and wait for the picture; also compiles and warms up.

        Every tile gets the same ones; the picture is that of the last.
        """
        self._device.prepare(NV12_WARP_NORM, CROP_OF_TENSOR, LIMIT_ALPHA)
        contract, image = self._contract, self._network.image
        rows = {contract.image.name: [image[tile : tile + 1] for tile in range(self._tiles)]}
        rows |= {spec.name: self._rows(spec) for spec in (contract.identity, contract.morph) if spec}
        for name, parts in rows.items():
            for part in parts:
                self._device.copy(part, inputs[name].reshape(part.shape), stream)
        self._network.launch(stream, self._network.count)
        picture = self._given(contract.picture, self._tiles - 1)[None]
        answer = self._device.pinned(picture.shape, picture.dtype)
        self._device.copy(answer, picture, stream)
        stream.synchronize()
        return answer


def _fade(device: Device, side: int) -> Array:
    """(side, side) float32: how much a crop keeps towards its edges, as ``CROP_OF_TENSOR`` has it."""
    place = np.arange(side, dtype=np.float32)
    ramp = np.clip(np.minimum(place, side - 1 - place) / max(1, round(FEATHER_SHARE * side)), 0, 1)
    array, stream = device.empty((side, side), np.float32), device.stream("fade")
    device.copy(array, np.minimum(ramp[:, None], ramp[None]).astype(np.float32), stream)
    stream.synchronize()
    return array


def takes_any_number(contract: SwapContract) -> bool:
    """Whether all that a network takes and gives for a picture it takes and gives for many at once."""
    read = {contract.picture, contract.mask, contract.celeb_mask}
    given = [spec for spec in contract.outputs if spec.name in read]
    taken = [spec for spec in (contract.image, contract.identity, contract.morph) if spec is not None]
    return all(isinstance(spec.shape[0], str) for spec in (*taken, *given))


def _image_shape(recipe: Recipe) -> tuple[int, ...]:
    size = recipe.size
    return (3, size, size) if recipe.layout == "chw" else (size, size, 3)


def _beside_shapes(contract: SwapContract, batch: int) -> dict[str, tuple[int, ...]]:
    known = (contract.identity, contract.morph)
    return {spec.name: (batch, *_whole(spec)[1:]) for spec in known if spec is not None}


def _output_shapes(contract: SwapContract, recipe: Recipe, batch: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the outputs that are read; axes that a file leaves free are what the family says."""
    size = contract.size
    wanted = {contract.picture: (batch, *_image_shape(recipe))}
    for name in (contract.mask, contract.celeb_mask):
        if name is not None:
            wanted[name] = (batch, size, size, 1)
    for spec in contract.outputs:
        if spec.name in wanted and not _agree(spec, wanted[spec.name]):
            raise ModelError(
                f"output {spec.name} is {list(spec.shape)} where a {contract.family} has {wanted[spec.name]}",
                "say of which family the model is",
            )
    return wanted


def _agree(spec: TensorSpec, shape: tuple[int, ...]) -> bool:
    if all(isinstance(axis, int) for axis in spec.shape):
        return prod(axis for axis in spec.shape if isinstance(axis, int)) == prod(shape)
    return len(spec.shape) == len(shape)


def _whole(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(axis if isinstance(axis, int) else 1 for axis in spec.shape)


def tensor_of(device: Device, values: npt.NDArray[np.float32], spec: TensorSpec, stream: Stream) -> Array:
    """Values of the host as a tensor of the device, in the type that an input takes."""
    array = device.empty(_whole(spec), spec.dtype)
    device.copy(array, np.ascontiguousarray(values.reshape(array.shape), spec.dtype), stream)
    return array
