"""Recognisers that a user brings, by their graph's contract: w600k ArcFace, SimSwap's and Ghost's.

What they make of a face is what a swap network takes in; each swap family was trained with one of them, and a
*converter* turns the embedding of one into that of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.core.face import Landmarks
from livefusion.faces.align import align_face
from livefusion.faces.landmarks import crop_photo
from livefusion.inference.catalog import ModelFile
from livefusion.inference.classify import Role
from livefusion.inference.session import Session

SIDE: Final = 112
LENGTH: Final = 512

Latent = npt.NDArray[np.float32]
"""(512,) float32, as the network gave it: not of unit length."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """What becomes of RGB 0..255 before a network sees it: ``(x − mean) / std`` for each channel."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __call__(self, rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """A (height, width, 3) picture as a (1, 3, height, width) float32 tensor."""
        planes = np.ascontiguousarray(rgb.transpose(2, 0, 1)[None], dtype=np.float32)
        shape = (1, 3, 1, 1)
        mean = np.array(self.mean, np.float32).reshape(shape)
        std = np.array(self.std, np.float32).reshape(shape)
        normalised: npt.NDArray[np.float32] = (planes - mean) / std
        return normalised


SYMMETRIC: Final = Normalisation((127.5,) * 3, (127.5,) * 3)
"""−1..1. DeepFaceLive feeds 0..1 to the same network, and gets a weaker likeness."""
IMAGENET: Final = Normalisation((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
"""0..1, then the mean and deviation of ImageNet (.485, .456, .406 and .229, .224, .225)."""

NORMALISATIONS: Final[Mapping[str, Normalisation]] = {
    "arcface": SYMMETRIC,
    "simswap_arcface": IMAGENET,
    "ghost_arcface": SYMMETRIC,
    "cscs_arcface": SYMMETRIC,
}
"""By family. All of them see the crop that ``align_face`` makes."""


class Recogniser:
    """A user's recogniser at work. One thread at a time."""

    def __init__(self, model: ModelFile, device_name: str = "cpu") -> None:
        """``ModelError`` if the file is none, or of no known family."""
        if model.role is not Role.RECOGNISER or model.family not in NORMALISATIONS:
            raise ModelError(
                f"{model.name} is no recogniser that is known",
                "use w600k_r50, simswap_arcface or ghost_arcface",
            )
        self.family = model.family
        self._normalise = NORMALISATIONS[model.family]
        self._session = Session(model.entry, device_name)
        self._input, self._output = model.graph.inputs[0], model.graph.outputs[0].name

    def embed_photo(self, rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> Latent:
        """The embedding of the face with these landmarks in a (height, width, 3) RGB photo."""
        return self.embed_crop(crop_photo(rgb, align_face(landmarks), SIDE))

    def embed_crop(self, crop: npt.NDArray[np.uint8]) -> Latent:
        """The embedding of a (112, 112, 3) RGB crop; ``ModelError`` if it is not finite."""
        image = self._normalise(crop).astype(self._input.dtype)
        found = self._session.run({self._input.name: image})[self._output]
        return _checked(found, self._session.entry.name)


class Converter:
    """Turns the embedding of w600k ArcFace into the one that another swap family was trained with."""

    def __init__(self, model: ModelFile, device_name: str = "cpu") -> None:
        """``ModelError`` if the file is no converter."""
        if model.role is not Role.CONVERTER:
            raise ModelError(
                f"{model.name} is no converter of embeddings", "use crossface_simswap or the like"
            )
        self._session = Session(model.entry, device_name)
        self._input, self._output = model.graph.inputs[0], model.graph.outputs[0].name

    def __call__(self, embedding: Latent) -> Latent:
        """The converted embedding, not of unit length; ``embedding`` is as the recogniser gave it."""
        latent = embedding.reshape(1, LENGTH).astype(self._input.dtype)
        return _checked(self._session.run({self._input.name: latent})[self._output], self._session.entry.name)


def _checked(found: npt.NDArray[np.floating], name: str) -> Latent:
    embedding = found.reshape(-1).astype(np.float32)
    if embedding.shape != (LENGTH,) or not np.isfinite(embedding).all():
        raise ModelError(f"model {name} gives no usable embedding of this face", "use another file or photo")
    return embedding
