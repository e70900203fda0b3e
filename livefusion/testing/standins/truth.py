"""What each stand-in takes and gives: noted here a second time, apart from the code that is tested by it."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Three = tuple[float, float, float]

LATENT: Final = 512
HALF: Final[Three] = (0.5, 0.5, 0.5)
NOTHING: Final[Three] = (0.0, 0.0, 0.0)
ONE: Final[Three] = (1.0, 1.0, 1.0)
IMAGENET: Final[tuple[Three, Three]] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

# In pixels of the crop that each was defined for, with its side.
POINTS: Final[dict[str, tuple[int, tuple[float, ...]]]] = {
    # Of the SimSwap paper's code, for crops of 112 pixels.
    "v1": (112, (39.730, 51.138, 72.270, 51.138, 56.000, 68.493, 42.463, 87.010, 69.537, 87.010)),
    # Of InsightFace.
    "v2": (112, (38.2946, 51.6963, 73.5318, 51.5014, 56.0252, 71.7366, 41.5493, 92.3655, 70.7299, 92.2041)),
    # The same, moved 8 pixels to the right in a crop of 128.
    "128": (128, (46.2946, 51.6963, 81.5318, 51.5014, 64.0252, 71.7366, 49.5493, 92.3655, 78.7299, 92.2041)),
    "dfl": (
        224,
        (79.1667, 88.0, 140.6667, 88.0, 109.0, 120.6667, 87.0, 154.0, 134.0, 154.0),
    ),
    "ffhq": (
        512,
        (
            *(192.98138, 239.94708, 318.90277, 240.1936, 256.63416, 314.01935),
            *(201.26117, 371.41043, 313.08905, 371.15118),
        ),
    ),
    "mtcnn": (
        512,
        (
            *(187.1991, 239.2771, 324.1236, 238.5193, 256.0978, 317.1429),
            *(199.8487, 397.3059, 313.2362, 396.7788),
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Truth:
    """One stand-in.

    ``identity`` says how it is told whose face to make: the ``embedding`` of a recogniser, after ``steps``, a
    ``picture`` of a side in pixels, or nothing; an ``adapter`` is a second recogniser, whose answer is added.
    ``inner`` is the type that it computes in; its tensors are float32 as of all known files. ``values`` are
    how a crop comes in: in [0, 1], in [−1, 1], which is also how the new face goes out, or normalised as for
    ImageNet.
    """

    name: str
    family: str
    size: int
    points: str
    values: Literal["unit", "signed", "imagenet"] = "unit"
    identity: Literal["embedding", "picture", "none"] = "embedding"
    recogniser: str = "arcface"
    converter: str = ""
    adapter: str = ""
    steps: Literal["unit", "emap", "raw", "sum"] = "unit"
    picture_side: int = 0
    picture_points: str = ""
    picture_signed: bool = False
    channels_last: bool = False
    inner: Literal["float32", "float16"] = "float32"
    input_name: str = "target"
    identity_name: str = "source"
    output_name: str = "output"
    morphs: bool = False
    mask: bool = False

    @property
    def normalised(self) -> tuple[Three, Three]:
        """Mean and deviation of RGB in [0, 1] that a crop has lost when it comes in."""
        return {"unit": (NOTHING, ONE), "signed": (HALF, HALF), "imagenet": IMAGENET}[self.values]

    def places(self) -> Doubles:
        """(5, 2) places of the five points in its crop."""
        return places(self.points, self.size)


def places(name: str, size: int) -> Doubles:
    """(5, 2) places of the five points in a crop of that side."""
    side, numbers = POINTS[name]
    return np.array(numbers, np.float64).reshape(5, 2) * (size / side)


TRUTHS: Final = (
    Truth("inswapper_128", "inswapper", 128, "128", steps="emap"),
    Truth("inswapper_128_half", "inswapper", 128, "128", steps="emap", inner="float16"),
    Truth("instyleswapper_256", "instyleswapper", 256, "128", steps="emap", inner="float16"),
    Truth(
        "cscs_256",
        "cscs",
        256,
        "ffhq",
        "signed",
        recogniser="cscs_arcface",
        adapter="cscs_adapter",
        steps="sum",
        input_name="input_1",
        identity_name="input_2",
    ),
    Truth("hyperswap_256", "hyperswap", 256, "128", "signed", inner="float16", mask=True),
    Truth("simswap_256", "simswap", 256, "v1", "imagenet", converter="crossface_simswap"),
    Truth(
        "simswap_512",
        "simswap",
        512,
        "v1",
        recogniser="simswap_arcface",
        input_name="input",
        identity_name="onnx::Gemm_1",
    ),
    Truth("ghost_256", "ghost", 256, "v1", "signed", converter="crossface_ghost", steps="raw"),
    Truth(
        "ghost_256_own",
        "ghost",
        256,
        "v1",
        "signed",
        recogniser="ghost_arcface",
        steps="raw",
        output_name="1165",
    ),
    Truth("hififace_256", "hififace", 256, "mtcnn", "signed", converter="crossface_hififace"),
    Truth(
        "uniface_256",
        "uniface",
        256,
        "ffhq",
        "signed",
        identity="picture",
        picture_side=256,
        picture_points="ffhq",
        picture_signed=True,
    ),
    Truth(
        "blendswap_256",
        "blendswap",
        256,
        "ffhq",
        identity="picture",
        picture_side=112,
        picture_points="v2",
    ),
    Truth("dfm_224", "dfm", 224, "dfl", identity="none", channels_last=True, input_name="in_face:0"),
    Truth(
        "dfm_320_morph",
        "dfm",
        320,
        "dfl",
        identity="none",
        channels_last=True,
        input_name="in_face:0",
        morphs=True,
    ),
)
"""Every family, some twice: as they are exported differently."""


def truth(name: str) -> Truth:
    """The one of that name; ``KeyError`` if there is none."""
    return {one.name: one for one in TRUTHS}[name]
