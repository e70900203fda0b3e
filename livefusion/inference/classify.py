"""What a network is for, told from its graph: ranks, sizes and counts, never from names.

Exports of one network differ in every name, and users rename files; the shapes of what it takes and gives
stay. Where several families look alike from outside, all of them are named.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from livefusion.inference.onnx_graph import OnnxGraph
from livefusion.inference.registry import TensorSpec

LATENT: Final = 512
"""Numbers of an embedding."""
_RECOGNISER_SIDE: Final = 112
_RECOGNISERS: Final = ("arcface", "simswap_arcface", "ghost_arcface", "cscs_arcface", "cscs_adapter")


class Role(StrEnum):
    """What a network is used for."""

    SWAP = "swap"
    RECOGNISER = "recogniser"
    CONVERTER = "converter"
    DETECTOR = "detector"
    LANDMARKS = "landmarks"
    ENHANCER = "enhancer"
    OCCLUSION = "occlusion"
    PARSER = "parser"


@dataclass(frozen=True, slots=True)
class Kind:
    """A role, and the families that a graph may be of; one, if it is certain."""

    role: Role
    families: tuple[str, ...]

    @property
    def family(self) -> str:
        """The family, or the empty text if it is not certain."""
        return self.families[0] if len(self.families) == 1 else ""


def classify(graph: OnnxGraph) -> Kind | None:
    """What a network is for; None if it is none that is known here."""
    images = [spec for spec in graph.inputs if len(spec.shape) == 4]
    rest = [spec for spec in graph.inputs if len(spec.shape) != 4]
    if len(images) == 1:
        return _of_one_picture(images[0], rest, graph)
    if len(images) == 2 and not rest:
        small = any(spec.shape[3] == _RECOGNISER_SIDE for spec in images)
        return Kind(Role.SWAP, ("blendswap" if small else "uniface",))
    if not images and len(rest) == 1 and _is_latent(rest[0]) and _all_latent(graph.outputs):
        return Kind(Role.CONVERTER, ("crossface_simswap", "crossface_ghost", "crossface_hififace"))
    return None


def describe(specs: tuple[TensorSpec, ...]) -> str:
    """Tensors by type and shape, for messages."""
    shown = [f"{spec.dtype}[{','.join(map(str, spec.shape))}]" for spec in specs[:3]]
    return ", ".join(shown) + (f" and {len(specs) - 3} more" if len(specs) > 3 else "")


def rgb_outputs(outputs: tuple[TensorSpec, ...]) -> list[TensorSpec]:
    """Outputs that may be an RGB picture; some exports leave the sizes free."""
    free = [spec for spec in outputs if len(spec.shape) == 4]
    return [spec for spec in free if spec.shape[1] == 3 or isinstance(spec.shape[1], str)]


def find_emap(graph: OnnxGraph) -> str | None:
    """Name of the matrix that maps embeddings to what an inswapper takes; None if there is none.

    It is called ``emap``, else the one 512 × 512 that nothing reads. Others take the last initializer, which
    a simplifier or a converter to half precision moves.
    """
    square = [weight.name for weight in graph.initializers if weight.shape == (LATENT, LATENT)]
    if "emap" in square:
        return "emap"
    loose = [name for name in square if name not in graph.consumed]
    return loose[0] if len(loose) == 1 else None


def _of_one_picture(image: TensorSpec, rest: list[TensorSpec], graph: OnnxGraph) -> Kind | None:
    if image.shape[3] == 3:
        return _channels_last(graph, rest)
    if not rest and image.shape[1] == 3:
        return _by_outputs(image, graph.outputs)
    if len(rest) == 1 and _is_latent(rest[0]):
        return _swap_by_embedding(image, graph)
    if len(rest) == 1 and len(rest[0].shape) <= 1 and rgb_outputs(graph.outputs):
        return Kind(Role.ENHANCER, ("codeformer",))
    return None


def _channels_last(graph: OnnxGraph, rest: list[TensorSpec]) -> Kind | None:
    """Networks of DeepFaceLab, which came from TensorFlow."""
    if len(graph.outputs) == 3 and all(len(spec.shape) <= 1 for spec in rest):
        return Kind(Role.SWAP, ("dfm",))
    return Kind(Role.OCCLUSION, ("xseg",)) if len(graph.outputs) == 1 and not rest else None


def _swap_by_embedding(image: TensorSpec, graph: OnnxGraph) -> Kind | None:
    if not rgb_outputs(graph.outputs):
        return None
    if find_emap(graph) is not None:
        return Kind(Role.SWAP, ("inswapper",) if image.shape[3] == 128 else ("instyleswapper",))
    if image.shape[3] == 512:
        return Kind(Role.SWAP, ("simswap",))
    if len(graph.outputs) > 1:  # a picture and its mask
        return Kind(Role.SWAP, ("hyperswap", "hififace"))
    return Kind(Role.SWAP, ("ghost", "simswap", "hififace", "hyperswap", "cscs"))


def _by_outputs(image: TensorSpec, outputs: tuple[TensorSpec, ...]) -> Kind | None:
    """Networks that take a single picture and nothing else, told apart by what they give."""
    for role, family, fits in _BY_OUTPUTS:
        if fits(image, outputs):
            return Kind(role, _RECOGNISERS if role is Role.RECOGNISER else (family,))
    return None


def _is_latent(spec: TensorSpec) -> bool:
    return len(spec.shape) == 2 and spec.shape[1] == LATENT


def _all_latent(outputs: tuple[TensorSpec, ...]) -> bool:
    return len(outputs) == 1 and _is_latent(outputs[0])


def _ends(outputs: tuple[TensorSpec, ...]) -> list[int | str]:
    """The last axis of each output, smallest first."""
    return sorted((spec.shape[-1] for spec in outputs if spec.shape), key=str)


def _channels(outputs: tuple[TensorSpec, ...], *wanted: int) -> bool:
    """Whether the outputs are maps of so many channels, in any order."""
    maps = [spec.shape[1] for spec in outputs if len(spec.shape) == 4]
    return sorted(map(str, maps)) == sorted(map(str, wanted))


def _vector(outputs: tuple[TensorSpec, ...], length: int) -> bool:
    return len(outputs) == 1 and len(outputs[0].shape) == 2 and outputs[0].shape[1] == length


def _points(outputs: tuple[TensorSpec, ...], count: int) -> bool:
    return any(len(spec.shape) == 3 and spec.shape[1] == count for spec in outputs)


def _same_size(image: TensorSpec, outputs: tuple[TensorSpec, ...]) -> bool:
    return len(outputs) == 1 and outputs[0].shape[2:] == image.shape[2:] and isinstance(image.shape[3], int)


_Fits = Callable[[TensorSpec, tuple[TensorSpec, ...]], bool]
_BY_OUTPUTS: Final[tuple[tuple[Role, str, _Fits], ...]] = (
    (Role.RECOGNISER, "arcface", lambda image, out: _all_latent(out)),
    (Role.DETECTOR, "scrfd", lambda image, out: _ends(out) == [1] * 3 + [10] * 3 + [4] * 3),
    (Role.DETECTOR, "yunet", lambda image, out: _ends(out) == [1] * 6 + [10] * 3 + [4] * 3),
    (
        Role.DETECTOR,
        "yolo_face",
        lambda image, out: len(out) == 1 and len(out[0].shape) == 3 and out[0].shape[1] == 20,
    ),
    (Role.LANDMARKS, "2dfan4", lambda image, out: _points(out, 68)),
    (Role.LANDMARKS, "2d106", lambda image, out: _vector(out, 212)),
    (Role.LANDMARKS, "1k3d68", lambda image, out: _vector(out, 3309)),
    (Role.LANDMARKS, "pipnet_98", lambda image, out: _channels(out, 98, 98, 98, 980, 980)),
    (Role.LANDMARKS, "peppapig_98", lambda image, out: _points(out, 98)),
    (Role.PARSER, "bisenet", lambda image, out: bool(out) and out[0].shape[1:2] == (19,)),
    (Role.OCCLUSION, "occluder", lambda image, out: _channels(out, 1) and len(out) == 1),
    (Role.ENHANCER, "restorer", lambda image, out: bool(rgb_outputs(out)) and _same_size(image, out)),
    (Role.ENHANCER, "upscaler", lambda image, out: len(out) == 1 and bool(rgb_outputs(out))),
)
