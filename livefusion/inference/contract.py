"""Which tensors a face-swap network takes and gives, and to which family it belongs; read from its graph."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.core.words import either
from livefusion.inference.classify import LATENT, Kind, Role, classify, find_emap, rgb_outputs
from livefusion.inference.onnx_graph import OnnxGraph
from livefusion.inference.registry import TensorSpec
from livefusion.inference.vet import vet


class Family(StrEnum):
    """Kinds of swap networks: they differ in crop, colour, normalisation, identity and outputs."""

    INSWAPPER = "inswapper"
    INSTYLESWAPPER = "instyleswapper"
    HYPERSWAP = "hyperswap"
    SIMSWAP = "simswap"
    GHOST = "ghost"
    HIFIFACE = "hififace"
    UNIFACE = "uniface"
    BLENDSWAP = "blendswap"
    CSCS = "cscs"
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
    graph = vet(path)
    kind = classify(graph)
    if kind is None or kind.role is not Role.SWAP:
        raise ModelError(f"{path.name} is no face-swap network that is known", _KNOWN)
    chosen = family or _certain(path, kind)
    images = [spec for spec in graph.inputs if len(spec.shape) == 4]
    if chosen is Family.DFM:
        return _dfm(path, graph, images)
    if len(images) == 2:
        return _by_picture(chosen, graph, images)
    latent = next((spec for spec in graph.inputs if len(spec.shape) == 2), None)
    if latent is None or chosen in {Family.UNIFACE, Family.BLENDSWAP}:
        raise ModelError(f"{path.name} is no {chosen}, by its graph", f"it may be {either(kind.families)}")
    emap = read_emap(path, graph)
    return _plain(chosen, images[0], latent, graph, kind=IdentityKind.EMBEDDING, emap=emap)


_KNOWN = (
    "known are inswapper, instyleswapper, hyperswap, simswap, ghost, hififace, uniface, blendswap, cscs "
    "and DFM"
)


def read_emap(path: Path, graph: OnnxGraph) -> npt.NDArray[np.float32] | None:
    """The (512, 512) float32 matrix from embeddings to latents, as ``find_emap`` finds it."""
    name = find_emap(graph)
    if name is None:
        return None
    (weight,) = (one for one in graph.initializers if one.name == name and one.shape == (LATENT, LATENT))
    return weight.read(path).astype(np.float32)


def _certain(path: Path, kind: Kind) -> Family:
    """The family that the graph tells; ``ModelError`` if it is none that can be used, or one of several."""
    if not kind.family:
        raise ModelError(
            f"the graph of {path.name} fits several families ({either(kind.families)})",
            f"say which: `livefusion models add {path} --family {kind.families[0]}`",
        )
    if kind.family not in set(Family):
        raise ModelError(f"{path.name} is of the family {kind.family}, which cannot be used yet", _KNOWN)
    return Family(kind.family)


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
    pictures = rgb_outputs(graph.outputs)
    if not isinstance(size, int) or not pictures:
        raise ModelError(f"a {family} network without the size of its picture cannot be used", _KNOWN)
    return SwapContract(family, size, image, identity, kind, graph.outputs, pictures[0].name, emap=emap)


def _by_picture(family: Family, graph: OnnxGraph, images: list[TensorSpec]) -> SwapContract:
    """BlendSwap takes the source at 112 pixels, UniFace at its own size: then the first is the target."""
    small = [spec for spec in images if spec.shape[-1] == 112]
    named = [spec for spec in images if spec.name == "source"]
    identity = small[0] if small else named[0] if named else images[1]
    image = next(spec for spec in images if spec is not identity)
    return _plain(family, image, identity, graph, kind=IdentityKind.PICTURE)


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
