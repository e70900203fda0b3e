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

FEATHER_SHARE = 0.05
"""Of the crop's side: the new face fades out so far before the crop ends."""


class SwapNetwork:
    """One network on fixed buffers. Used on one thread and one stream."""

    def __init__(
        self, device: Device, session: Loaded, contract: SwapContract, recipe: Recipe, name: str
    ) -> None:
        self._device = device
        self._contract = contract
        self._recipe = recipe
        self._beside = _beside_shapes(contract)
        outputs = _output_shapes(contract, recipe)
        self._network = BoundNetwork(
            device,
            session,
            name,
            _image_shape(recipe),
            outputs,
            to_host=False,
            image_name=contract.image.name,
            beside=self._beside,
        )
        size = contract.size
        self.crop: Array = device.empty((size, size, 4), np.uint8)
        """The crop that the network gave last: Y, Cb, Cr, alpha."""
        self.bad: Array = device.empty((1,), np.int32)
        """Other than 0 if the crop must not be shown."""
        self._no_faults = device.pinned((1,), np.int32)
        self._no_faults[0] = 0
        self._mean = tuple(255 * value for value in recipe.mean)
        self._scale = tuple(1 / (255 * value) for value in recipe.deviation)
        self._feather = max(1, round(FEATHER_SHARE * size))

    def tell(self, identity: Array | None, morph: float, stream: Stream) -> None:
        """Have the following runs make the face of an ``identity``, a tensor of the device."""
        if identity is not None and self._contract.identity is not None:
            target = self._network.beside[self._contract.identity.name][0]
            self._device.copy(target, identity, stream)
        if self._contract.morph is not None:
            target = self._network.beside[self._contract.morph.name][0]
            self._device.copy(target, np.full(target.shape, morph, target.dtype), stream)

    def run(self, frame: Frame, to_crop: Affine, stream: Stream) -> None:
        """Crop a face of a frame, and make the new one of it."""
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "out": self._network.image,
            "matrices": (to_crop,),
            "color": frame.color,
            "mean": self._mean,
            "scale": self._scale,
            "layout": self._recipe.layout,
            "order": self._recipe.order,
        }
        self._device.launch(NV12_WARP_NORM, arguments, stream)
        self._network.launch(stream)

    def read(self, frame: Frame, mask: Array, stream: Stream) -> None:
        """Bring what the network gave into ``crop``, with the alpha of a ``mask``, and judge it: ``bad``."""
        recipe, contract = self._recipe, self._contract
        self._device.copy(self.bad, self._no_faults, stream)
        picture = self._network.kept(contract.picture)
        arguments: dict[str, Any] = {
            "tensor": picture.reshape(picture.shape[-3:]),
            "mask": mask,
            "crop": self.crop,
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
                limit = self._network.kept(name).reshape(self.crop.shape[:2])
                self._device.launch(LIMIT_ALPHA, {"limit": limit, "crop": self.crop, "bad": self.bad}, stream)

    def try_out(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], stream: Stream
    ) -> npt.NDArray[np.floating]:
        """Run on inputs of the host, by name, and wait for the picture; also compiles and warms up."""
        self._device.prepare(NV12_WARP_NORM, CROP_OF_TENSOR, LIMIT_ALPHA)
        arrays = {self._contract.image.name: self._network.image}
        arrays |= {name: array[0] for name, array in self._network.beside.items()}
        for name, array in arrays.items():
            self._device.copy(array, inputs[name].reshape(array.shape), stream)
        self._network.launch(stream)
        picture = self._network.kept(self._contract.picture)
        answer = self._device.pinned(picture.shape, picture.dtype)
        self._device.copy(answer, picture, stream)
        stream.synchronize()
        return answer


def _image_shape(recipe: Recipe) -> tuple[int, ...]:
    size = recipe.size
    return (1, 3, size, size) if recipe.layout == "chw" else (1, size, size, 3)


def _beside_shapes(contract: SwapContract) -> dict[str, tuple[int, ...]]:
    known = (contract.identity, contract.morph)
    return {spec.name: _whole(spec) for spec in known if spec is not None}


def _output_shapes(contract: SwapContract, recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """Shapes of the outputs that are read; axes that a file leaves free are what the family says."""
    size = contract.size
    wanted = {contract.picture: _image_shape(recipe)}
    for name in (contract.mask, contract.celeb_mask):
        if name is not None:
            wanted[name] = (1, size, size, 1)
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
