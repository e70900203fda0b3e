"""What a user's network sees in front of a face: XSeg, an occluder, or the classes of a face parser.

They say where the face is bare; the built-in network says where something is in front of it. What either
takes for something in front stays there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from livefusion.blend.occlusion_crop import crop_of
from livefusion.core.errors import ModelError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine
from livefusion.core.words import either
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.catalog import ModelFile
from livefusion.inference.classify import Role
from livefusion.inference.network import BoundNetwork
from livefusion.inference.session import Session
from livefusion.ops.registry import BARE_OF_TENSOR, NV12_WARP_NORM

Three = tuple[float, float, float]

FAMILIES: Final = ("xseg", "occluder", "bisenet")
# Of BiSeNet's 19 classes (CelebAMask-HQ): skin, brows, eyes, nose, mouth and lips. Glasses are in front.
_BARE_CLASSES: Final = sum(1 << index for index in (1, 2, 3, 4, 5, 10, 11, 12, 13))
_CLASSES: Final = 19
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_SIDE: Final = {"xseg": 256, "occluder": 256, "bisenet": 512}
"""Of networks that take any size: what each was trained at."""
_GROWN: Final = {"xseg": 1.3, "occluder": 1.4, "bisenet": 1.5}
"""Of the larger side of the mesh: near to the crops that each was trained on."""


@dataclass(frozen=True, slots=True)
class MaskContract:
    """How one file is fed and read.

    It takes (RGB − ``mean``) · ``scale``, RGB in 0–255, of a crop of ``side`` pixels. Of its ``output`` of
    ``depth`` maps, in the shape ``answer``, the face is bare by (value − ``low``) · ``gain``, or where one of
    ``classes`` is.
    """

    image: str
    output: str
    answer: tuple[int, ...]
    side: int
    grown: float
    depth: int
    layout: Literal["chw", "hwc"]
    order: Literal["rgb", "bgr"]
    mean: Three = (0.0, 0.0, 0.0)
    scale: Three = (1 / 255, 1 / 255, 1 / 255)
    low: float = 0.0
    gain: float = 1.0
    classes: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the input for one face."""
        side = self.side
        return (1, 3, side, side) if self.layout == "chw" else (1, side, side, 3)


def mask_contract(model: ModelFile) -> MaskContract:
    """The contract of a file. ``ModelError`` if it tells nothing of faces, or is of no known family."""
    if model.role not in {Role.OCCLUSION, Role.PARSER} or model.family not in FAMILIES:
        raise ModelError(f"{model.name} does not tell what is in front of a face", f"use {either(FAMILIES)}")
    family, image = model.family, model.graph.inputs[0]
    last = image.shape[3] == 3
    axis = image.shape[1] if last else image.shape[3]
    side = axis if isinstance(axis, int) else _SIDE[family]
    found, depth = model.graph.outputs[0], _CLASSES if family == "bisenet" else 1
    contract = MaskContract(
        image.name,
        found.name,
        (1, side, side, 1) if found.shape[-1] == 1 else (1, depth, side, side),
        side,
        _GROWN[family],
        depth,
        "hwc" if last else "chw",
        "bgr" if last else "rgb",  # DeepFaceLab's own files; those turned to channels first are fed RGB
    )
    return _as_trained(contract, family)


def _as_trained(contract: MaskContract, family: str) -> MaskContract:
    if family == "xseg":  # less than a half is taken for something in front, as by those who use it
        return replace(contract, low=0.5, gain=2.0)
    if family == "occluder":  # a logit, which is softened round its middle
        return replace(contract, low=-0.5, gain=1.0)
    mean: Three = (255 * _MEAN[0], 255 * _MEAN[1], 255 * _MEAN[2])
    scale: Three = (1 / (255 * _DEVIATION[0]), 1 / (255 * _DEVIATION[1]), 1 / (255 * _DEVIATION[2]))
    return replace(contract, mean=mean, scale=scale, classes=_BARE_CLASSES)


@dataclass(slots=True, eq=False)
class FaceMasks:
    """One network on buffers for ``faces`` a frame. Used on one thread and one stream.

    ``load`` gives the network when it is needed first; raises what it raises.
    """

    device: Device
    contract: MaskContract
    load: Callable[[], Session]
    faces: int = 1
    session: Session | None = None
    """The network, once it is loaded."""
    _network: BoundNetwork | None = field(default=None, init=False)
    _maps: list[Affine] = field(default_factory=list, init=False)

    def warm_up(self, stream: Stream) -> None:
        """Load the network and run it once."""
        network = self._bound(self.faces)
        self.device.prepare(NV12_WARP_NORM, BARE_OF_TENSOR)
        self.device.copy(network.image, np.zeros(network.image.shape, network.image.dtype), stream)
        network.launch(stream, network.count)
        stream.synchronize()

    def look(self, frame: Frame, faces: Sequence[npt.NDArray[np.float32]], stream: Stream) -> None:
        """Look at the faces with these landmarks, (≥468, 3) in frame pixels, in stream order."""
        contract, network = self.contract, self._bound(len(faces))
        self._maps = [crop_of(landmarks, contract.side, contract.grown) for landmarks in faces]
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "matrices": self._maps,
            "color": frame.color,
            "mean": contract.mean,
            "scale": contract.scale,
            "layout": contract.layout,
            "order": contract.order,
            "out": network.image[: len(faces)],
        }
        self.device.launch(NV12_WARP_NORM, arguments, stream)
        network.launch(stream, len(faces))

    def raise_matte(self, index: int, matte: Array, to_matte: Affine, stream: Stream) -> None:
        """Put what was seen in front of that face into a matte (S, S) float32, which ``to_matte`` maps to."""
        assert self._network is not None, "it has looked"
        contract = self.contract
        found = self._network.kept(contract.output, index)
        arguments = {
            "tensor": found.reshape(contract.depth, contract.side, contract.side),
            "to_tensor": self._maps[index].after(to_matte.inverse()),
            "low": contract.low,
            "gain": contract.gain,
            "classes": contract.classes,
            "matte": matte,
        }
        self.device.launch(BARE_OF_TENSOR, arguments, stream)

    def _bound(self, faces: int) -> BoundNetwork:
        if self._network is None or self._network.count < faces:
            self.session = self.session or self.load()
            contract = self.contract
            self._network = BoundNetwork(
                self.device,
                self.session,
                "occluder",
                contract.shape,
                {contract.output: contract.answer},
                count=max(faces, self.faces),
                to_host=False,
                image_name=contract.image,
            )
        return self._network
