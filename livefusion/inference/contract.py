"""Which tensors a face-swap network takes and gives, and to which family it belongs; read from its graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.inference.onnx_file import read_graph
from livefusion.inference.onnx_graph import OnnxGraph
from livefusion.inference.registry import TensorSpec

LATENT = 512
"""Numbers in an identity's embedding, and in what networks take of it."""
EMAP = "emap"


class Family(StrEnum):
    """Kinds of swap networks: they differ in crop, colour, normalisation, identity and outputs."""

    INSWAPPER = "inswapper"
    HYPERSWAP = "hyperswap"
    SIMSWAP = "simswap"
    GHOST = "ghost"
    HIFIFACE = "hififace"
    UNIFACE = "uniface"
    BLENDSWAP = "blendswap"
    DFM = "dfm"


class IdentityKind(StrEnum):
    """What tells a network whose face to make."""

    EMBEDDING = "embedding"
    PICTURE = "picture"
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class SwapContract:
    """The tensors of one file by their roles.

    ``size`` is the side of the crop in pixels; ``image`` is the input for the performer's face, ``identity``
    that for the source's (None if the network knows but one face). ``outputs`` are all, in the order of the
    graph; ``picture`` names the new face, ``mask`` and ``celeb_mask`` a DFM's masks of the performer and of
    the new face. ``morph`` is the input of a DFM that mixes both. ``emap`` is (512, 512) float32 of an
    inswapper, which maps embeddings to what it takes.
    """

    family: Family
    size: int
    image: TensorSpec
    identity: TensorSpec | None
    identity_kind: IdentityKind
    outputs: tuple[TensorSpec, ...]
    picture: str
    mask: str | None = None
    celeb_mask: str | None = None
    morph: TensorSpec | None = None
    emap: npt.NDArray[np.float32] | None = None


def read_contract(path: Path, family: Family | None = None) -> SwapContract:
    """The contract of a file; ``family`` overrules what its graph looks like.

    ``ModelError`` if it is no swap network, or if several families look like it and none is told.
    """
    graph = read_graph(path)
    images = [spec for spec in graph.inputs if len(spec.shape) == 4]
    if family is Family.DFM or (len(images) == 1 and images[0].shape[-1] == 3):
        return _dfm(path, graph, images)
    latents = [spec for spec in graph.inputs if len(spec.shape) == 2 and spec.shape[1] == LATENT]
    if len(images) == 1 and len(latents) == 1:
        emap = read_emap(path, graph)
        found = family or (Family.INSWAPPER if emap is not None else _ambiguous(path))
        return _plain(found, images[0], latents[0], graph, kind=IdentityKind.EMBEDDING, emap=emap)
    if len(images) == 2:
        return _by_picture(path, graph, images, family)
    raise ModelError(f"{path.name} is no face-swap network that is known", _KNOWN)


_KNOWN = "known are inswapper, hyperswap, simswap, ghost, hififace, uniface, blendswap and DFM"


def read_emap(path: Path, graph: OnnxGraph) -> npt.NDArray[np.float32] | None:
    """The matrix from embeddings to latents: named ``emap``, else the one 512 × 512 that nothing consumes.

    Others take the last initializer, which a simplifier or a converter to half precision moves.
    """
    square = [weight for weight in graph.initializers if weight.shape == (LATENT, LATENT)]
    named = [weight for weight in square if weight.name == EMAP]
    loose = named or [weight for weight in square if weight.name not in graph.consumed]
    return loose[0].read(path).astype(np.float32) if len(loose) == 1 else None


def _ambiguous(path: Path) -> Family:
    raise ModelError(
        f"the graph of {path.name} fits several families",
        "add --family hyperswap, simswap, ghost or hififace",
    )


def _plain(
    family: Family,
    image: TensorSpec,
    identity: TensorSpec,
    graph: OnnxGraph,
    *,
    kind: IdentityKind,
    emap: npt.NDArray[np.float32] | None = None,
) -> SwapContract:
    size = image.shape[-1]
    pictures = [spec for spec in graph.outputs if len(spec.shape) == 4 and spec.shape[1] in {3, "axis1"}]
    if not isinstance(size, int) or not pictures:
        raise ModelError(f"a {family} network without the size of its picture cannot be used", _KNOWN)
    return SwapContract(family, size, image, identity, kind, graph.outputs, pictures[0].name, emap=emap)


def _by_picture(
    path: Path, graph: OnnxGraph, images: list[TensorSpec], family: Family | None
) -> SwapContract:
    """BlendSwap takes the source at 112 pixels, UniFace at its own size: then the first is the target."""
    small = [spec for spec in images if spec.shape[-1] == 112]
    found = family or (Family.BLENDSWAP if small else Family.UNIFACE)
    named = [spec for spec in images if spec.name == "source"]
    identity = small[0] if small else named[0] if named else images[1]
    image = next(spec for spec in images if spec is not identity)
    return _plain(found, image, identity, graph, kind=IdentityKind.PICTURE)


def _dfm(path: Path, graph: OnnxGraph, images: list[TensorSpec]) -> SwapContract:
    """DeepFaceLive's: NHWC, and three outputs in a fixed order whose ranks alone do not tell them apart."""
    if len(images) != 1 or len(graph.outputs) != 3 or not isinstance(images[0].shape[1], int):
        raise ModelError(f"{path.name} is no DFM network", _KNOWN)
    mask, celeb, celeb_mask = graph.outputs
    morph = next((spec for spec in graph.inputs if len(spec.shape) == 1), None)
    return SwapContract(
        Family.DFM,
        images[0].shape[1],
        images[0],
        None,
        IdentityKind.NONE,
        graph.outputs,
        celeb.name,
        mask=mask.name,
        celeb_mask=celeb_mask.name,
        morph=morph,
    )
