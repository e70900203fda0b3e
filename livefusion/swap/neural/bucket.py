"""A swap network bound for so many faces at once: they are cropped by one launch and made by one run."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.contract import SwapContract
from livefusion.inference.network import BoundNetwork, Loaded
from livefusion.inference.registry import TensorSpec
from livefusion.ops.registry import NV12_WARP_NORM
from livefusion.swap.neural.recipe import Recipe

SIZES = (4, 2, 1)
"""Faces in a run, the most first: three are made by a run of two and one of one, none for nobody."""
MOST_PICTURES = 16
"""In a run: more would take memory that grows with the square of a ``boost``."""


class Bucket:
    """Fixed buffers for ``faces`` faces of ``boost``² tiles each. Used on one thread and one stream.

    Each face has a seat with an identity of its own. A network that takes as many pictures as one likes makes
    all of them in one run; another one makes them one after another.
    """

    def __init__(
        self,
        device: Device,
        session: Loaded,
        contract: SwapContract,
        recipe: Recipe,
        name: str,
        *,
        faces: int = 1,
        boost: int = 1,
    ) -> None:
        self._device = device
        self._contract = contract
        self._recipe = recipe
        self._boost = boost
        self._tiles = boost * boost
        pictures = faces * self._tiles
        self._batch = pictures if takes_any_number(contract) else 1
        self._network = BoundNetwork(
            device,
            session,
            name,
            (self._batch, *_image_shape(recipe)),
            _output_shapes(contract, recipe, self._batch),
            count=pictures // self._batch,
            to_host=False,
            image_name=contract.image.name,
            beside=_beside_shapes(contract, self._batch),
        )
        self._mean = tuple(255 * value for value in recipe.mean)
        self._scale = tuple(1 / (255 * value) for value in recipe.deviation)
        self._to_tiles = [
            Affine([[1 / boost, 0, -x / boost], [0, 1 / boost, -y / boost]])
            for y in range(boost)
            for x in range(boost)
        ]
        self.told: list[tuple[float, ...] | None] = [None] * faces
        """What each seat was told last, for whoever tells it."""

    @property
    def faces(self) -> int:
        """How many seats there are."""
        return len(self.told)

    @property
    def runs(self) -> int:
        """How often the network runs for them."""
        return self._network.count

    def tell(self, seat: int, identity: Array | None, morph: float, stream: Stream) -> None:
        """Have the following runs make the face of an ``identity``, a tensor of the device, at a seat."""
        if identity is not None and self._contract.identity is not None:
            for target in self._rows(self._contract.identity, seat):
                self._device.copy(target, identity, stream)
        if self._contract.morph is not None:
            for target in self._rows(self._contract.morph, seat):
                self._device.copy(target, np.full(target.shape, morph, target.dtype), stream)

    def run(self, frame: Frame, to_crops: Sequence[Affine], stream: Stream) -> None:
        """Crop a face of a frame for each seat, and make the new ones; the maps lead to pixels of crops."""
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "out": self._network.image,
            "matrices": tuple(tile.after(to_crop) for to_crop in to_crops for tile in self._to_tiles),
            "color": frame.color,
            "mean": self._mean,
            "scale": self._scale,
            "layout": self._recipe.layout,
            "order": self._recipe.order,
        }
        self._device.launch(NV12_WARP_NORM, arguments, stream)
        self._network.launch(stream, self._network.count)

    def given(self, tensor: str, seat: int, tile: int = 0) -> Array:
        """What the network gave for a tile of a face."""
        picture = seat * self._tiles + tile
        return self._network.kept(tensor, picture // self._batch)[picture % self._batch]

    def try_out(
        self, inputs: Mapping[str, npt.NDArray[np.generic]], stream: Stream
    ) -> npt.NDArray[np.floating]:
        """Run on inputs of the host, by name, and wait for the picture; also warms up.

        Every tile of every face gets the same ones; the picture is that of the last.
        """
        contract, image = self._contract, self._network.image
        parts = {contract.image.name: [image[index : index + 1] for index in range(len(image))]}
        for spec in filter(None, (contract.identity, contract.morph)):
            parts[spec.name] = [row for seat in range(self.faces) for row in self._rows(spec, seat)]
        for name, rows in parts.items():
            for row in rows:
                self._device.copy(row, inputs[name].reshape(row.shape), stream)
        self._network.launch(stream, self._network.count)
        self.told = [None] * self.faces
        picture = self.given(contract.picture, self.faces - 1, self._tiles - 1)[None]
        answer = self._device.pinned(picture.shape, picture.dtype)
        self._device.copy(answer, picture, stream)
        stream.synchronize()
        return answer

    def _rows(self, spec: TensorSpec, seat: int) -> list[Array]:
        """What is told beside each picture of a seat, one (1, …) part of an input each."""
        array = self._network.beside[spec.name]
        rows = array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
        first = seat * self._tiles
        return [rows[index : index + 1] for index in range(first, first + self._tiles)]


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
    return {spec.name: (batch, *whole(spec)[1:]) for spec in known if spec is not None}


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


def whole(spec: TensorSpec) -> tuple[int, ...]:
    """The shape of a tensor, 1 for each axis that the file leaves free."""
    return tuple(axis if isinstance(axis, int) else 1 for axis in spec.shape)
