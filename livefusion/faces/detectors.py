"""Detectors that a user brings, behind the interface of the built-in one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from livefusion.core.errors import ModelError
from livefusion.core.geometry import Size
from livefusion.core.words import either
from livefusion.faces.detector_format import DetectorFormat
from livefusion.faces.scrfd import CHANNELS, STRIDES, scrfd
from livefusion.faces.yoloface import OUTPUT, yolo_face
from livefusion.faces.yunet import LANDSCAPE, MULTIPLE, PORTRAIT, YUNET, YuNetDecoder
from livefusion.inference.catalog import ModelFile, find_model
from livefusion.inference.classify import Role
from livefusion.inference.registry import ModelEntry, TensorSpec
from livefusion.inference.renamed import Renamed
from livefusion.inference.session import Session

FAMILIES: Final = ("yunet", "scrfd", "yolo_face")


def check_detector(chosen: str) -> None:
    """Raise what is wrong with the detector that a setting names, before anything is started."""
    if chosen:
        detector_format(find_model(chosen))


def detector_format(model: ModelFile) -> tuple[DetectorFormat, Mapping[str, str]]:
    """How a user's detector is used, and what its file calls each tensor of ours.

    ``ModelError`` if it is none, takes a picture of a size that cannot be, or another type than float32.
    """
    if model.role is not Role.DETECTOR or model.family not in FAMILIES:
        raise ModelError(f"{model.name} is no face detector that is known", f"use {either(FAMILIES)}")
    image = model.graph.inputs[0]
    if image.dtype != "float32":
        raise ModelError(
            f"detector {model.name} takes {image.dtype}", "export it with float32 inputs; weights may be fp16"
        )
    landscape, portrait = _sizes(image, model.name)
    names = {"image": image.name}
    outputs = model.graph.outputs
    if model.family == "yolo_face":
        return yolo_face(landscape, portrait), {**names, OUTPUT: outputs[0].name}
    if model.family == "yunet":
        form = DetectorFormat(
            YUNET.name, landscape, portrait, YUNET.normalisation, YuNetDecoder.output_shapes, YuNetDecoder
        )
        return form, {**names, **_yunet_names(outputs)}
    form = scrfd(landscape, portrait, batch_axis=len(outputs[0].shape) == 3)
    return form, {**names, **_by_kind(outputs, CHANNELS)}


def detector_entry(model: ModelFile) -> ModelEntry:
    """What ``Session`` loads: with outputs of any size where the input is of any size."""
    if not any(isinstance(axis, str) for axis in model.graph.inputs[0].shape[2:]):
        return model.entry
    free = tuple(replace(spec, shape=_free(spec.shape)) for spec in model.graph.outputs)
    return replace(model.entry, outputs=free, loosened=model.graph.output_sizes)


def open_detector(session: Session, names: Mapping[str, str]) -> Renamed:
    """The loaded file under our names."""
    return Renamed(session, names)


def _free(shape: tuple[int | str, ...]) -> tuple[int | str, ...]:
    return tuple(f"axis{index}" for index in range(len(shape)))


def _sizes(image: TensorSpec, name: str) -> tuple[Size, Size]:
    """What a detector sees live: our sizes if it takes any, else its own."""
    height, width = image.shape[2:]
    if isinstance(height, str) or isinstance(width, str):
        return LANDSCAPE, PORTRAIT
    size = Size(width, height)
    if width % MULTIPLE or height % MULTIPLE or width != height:
        # The detector looks at turned pictures too: one that lies must fit as well.
        raise ModelError(f"detector {name} takes pictures of {size}", "use a square one, or one of any size")
    return size, size


def _by_kind(outputs: Sequence[TensorSpec], kinds: Mapping[str, int]) -> dict[str, str]:
    """Our names for outputs that are told apart by their last axis, and by stride in its order."""
    names: dict[str, str] = {}
    for kind, depth in kinds.items():
        maps = _by_stride([spec for spec in outputs if spec.shape[-1] == depth])
        names |= {f"{kind}_{stride}": spec.name for stride, spec in zip(STRIDES, maps, strict=True)}
    return names


def _yunet_names(outputs: Sequence[TensorSpec]) -> dict[str, str]:
    """Two maps of each stride have one channel; their product counts, so either may be the other."""
    single = [spec for spec in outputs if spec.shape[-1] == 1]
    rest = [spec for spec in outputs if spec.shape[-1] != 1]
    names = _by_kind(rest, {"bbox": 4, "kps": 10})
    for kind, maps in (("cls", single[:3]), ("obj", single[3:])):
        ordered = _by_stride(maps)
        names |= {f"{kind}_{stride}": spec.name for stride, spec in zip(STRIDES, ordered, strict=True)}
    return names


def _by_stride(maps: list[TensorSpec]) -> list[TensorSpec]:
    """The finest first: by the number of cells, where the file tells it; else as exporters order them."""
    counts = [spec.shape[-2] for spec in maps]
    if all(isinstance(count, int) for count in counts) and len(set(counts)) == len(counts):
        return sorted(maps, key=lambda spec: -int(spec.shape[-2]))
    return maps
