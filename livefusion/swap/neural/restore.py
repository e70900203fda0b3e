"""Networks that restore faces: GFPGAN, GPEN and RestoreFormer++, which take a picture, and CodeFormer.

All see an aligned face in −1..1 and give one. Real-ESRGAN and its like see it smaller, in 0..1, and give it
several times larger. On photos ``livefusion models try`` shows what a file does; in a live picture
``enhance`` restores the new face.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.errors import ModelError
from livefusion.core.face import Landmarks
from livefusion.core.geometry import Affine
from livefusion.inference.catalog import ModelFile
from livefusion.inference.classify import Role, rgb_outputs
from livefusion.inference.registry import TensorSpec
from livefusion.inference.session import Session
from livefusion.swap.neural.template import template

UPSCALER: Final = "upscaler"
FAMILIES: Final = ("restorer", "codeformer", UPSCALER)
_SIDE: Final = 512
"""Of a network that takes any size: all of them were trained at this one. Upscalers give as much."""
_PROBE, _LEAST_SIDE = 64, 32
_SMALL: Final = 256
_FEATHER: Final = 0.08
"""Share of the side of the crop over which its border fades into the photo."""

Rgb = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Restored:
    """A face restored: (side, side, 3) RGB, and the map from the photo to its pixels."""

    crop: Rgb
    to_crop: Affine


@dataclass(frozen=True, slots=True)
class RestoreContract:
    """The tensors of one file: ``image`` takes the face, ``weight`` (CodeFormer's; None for others) how near
    to that the answer stays, and ``output`` names the answer. Faces lie in it as ``template`` says. Levels of
    0..255 less ``middle``, by ``span``, are what it takes and gives. ``upscales`` says that it gives more
    pixels than it takes."""

    image: TensorSpec
    weight: TensorSpec | None
    output: str
    template: str
    middle: float = 127.5
    span: float = 127.5
    upscales: bool = False


@dataclass(frozen=True, slots=True)
class RestoreSizes:
    """Sides in pixels of what a network takes, and of what it gives: so many times as many."""

    taken: int
    times: int = 1

    @property
    def given(self) -> int:
        """Side of the answer."""
        return self.taken * self.times

    def to_answer(self, to_crop: Affine) -> Affine:
        """The map to pixels of the answer, by that to pixels of what the network takes."""
        shift = (self.times - 1) / 2  # the middles of pixels have whole coordinates
        return Affine([[self.times, 0, shift], [0, self.times, shift]]).after(to_crop)


def restore_contract(model: ModelFile) -> RestoreContract:
    """How a file is fed and read. ``ModelError`` if it restores no faces, or is of no known family."""
    if model.role is not Role.ENHANCER or model.family not in FAMILIES:
        raise ModelError(
            f"{model.name} does not restore faces",
            "use GFPGAN, GPEN, RestoreFormer, CodeFormer or Real-ESRGAN",
        )
    inputs = model.graph.inputs
    image = next(spec for spec in inputs if len(spec.shape) == 4)
    weight = next((spec for spec in inputs if len(spec.shape) < 4), None)
    output = rgb_outputs(model.graph.outputs)[0].name
    if model.family == UPSCALER:  # of the tighter crop they make more of the face
        return RestoreContract(image, weight, output, "arcface_128", 0.0, 255.0, upscales=True)
    # GPEN at 256 was trained on the tighter crop.
    tight = image.shape[3] == _SMALL
    return RestoreContract(image, weight, output, "arcface_128" if tight else "ffhq_512")


def restore_sizes(contract: RestoreContract, session: Session) -> RestoreSizes:
    """What a network takes and gives; one that leaves it open is run once to see.

    ``ModelError`` if it gives a picture that is not some whole number of times as large.
    """
    axis = contract.image.shape[3]
    fixed = axis if isinstance(axis, int) else 0
    if not contract.upscales:
        return RestoreSizes(fixed or _SIDE)
    probe = fixed or _PROBE
    answer = session.run({contract.image.name: np.zeros((1, 3, probe, probe), contract.image.dtype)})
    height, width = answer[contract.output].shape[2:]
    if height != width or width < probe or width % probe:
        raise ModelError(
            f"{session.entry.name} makes {width} × {height} pixels of {probe} × {probe}",
            "use a network that enlarges both sides alike, by a whole number",
        )
    times = width // probe
    return RestoreSizes(fixed or max(_SIDE // times, _LEAST_SIDE), times)


class Restorer:
    """A user's network at work on photos. One thread at a time."""

    def __init__(self, model: ModelFile, device_name: str = "cpu") -> None:
        """``ModelError`` if the file is none, or of no known family."""
        self._contract = contract = restore_contract(model)
        self._session = Session(model.entry, device_name)
        self._sizes = restore_sizes(contract, self._session)
        self.side, self.template = self._sizes.taken, contract.template

    def restore(self, rgb: Rgb, landmarks: Landmarks, *, fidelity: float = 0.5) -> Restored:
        """The face with these landmarks of a (height, width, 3) RGB photo.

        ``fidelity`` in [0, 1] is how near CodeFormer stays to what it is given; others do not ask.
        ``ModelError`` if the answer is not finite.
        """
        to_crop = similarity_onto(five_points(landmarks), template(self.template, self.side))
        crop = cv2.warpAffine(
            rgb, to_crop.matrix, (self.side, self.side), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE
        )
        contract = self._contract
        values = ((crop.astype(np.float32) - contract.middle) / contract.span).transpose(2, 0, 1)[None]
        image, weight = contract.image, contract.weight
        feed = {image.name: np.ascontiguousarray(values, image.dtype)}
        if weight is not None:
            feed[weight.name] = np.full(weight_shape(weight), fidelity, weight.dtype)
        found = np.asarray(self._session.run(feed)[self._contract.output], np.float32)[0]
        if not np.isfinite(found).all():
            raise ModelError(f"model {self._session.entry.name} gives no picture of this face", "try fp32")
        answer = np.clip(found.transpose(1, 2, 0) * contract.span + contract.middle, 0, 255)
        return Restored(np.rint(answer).astype(np.uint8), self._sizes.to_answer(to_crop))


def weight_shape(spec: TensorSpec) -> tuple[int, ...]:
    """That of CodeFormer's weight, whose axes some exports leave free."""
    return tuple(axis if isinstance(axis, int) else 1 for axis in spec.shape)


def put_back(rgb: Rgb, restored: Restored, share: float = 0.8) -> Rgb:
    """The photo with a restored face over the old one, by ``share`` in [0, 1], fading towards the border."""
    side = restored.crop.shape[0]
    ramp = np.minimum(np.arange(side) + 0.5, side - np.arange(side) - 0.5) / (_FEATHER * side)
    fade = np.clip(np.minimum(ramp[:, None], ramp[None]), 0, 1).astype(np.float32) * np.float32(share)
    size = (rgb.shape[1], rgb.shape[0])
    back = restored.to_crop.inverse().matrix
    mask = cv2.warpAffine(fade, back, size)[..., None]
    face = cv2.warpAffine(restored.crop, back, size, flags=cv2.INTER_LINEAR)
    mixed = rgb * (1 - mask) + face.astype(np.float32) * mask
    return np.rint(mixed).astype(np.uint8)
