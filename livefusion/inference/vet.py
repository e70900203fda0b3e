"""What a model file must be before anything loads it; what it is instead, in one line.

Loading runs a parser of C++ over the file, pickles would run code, and operators of foreign domains would
need a library. So a file is looked at first, and only heads of it are read.
"""

import re
from pathlib import Path
from typing import Final

from livefusion.core.errors import ModelError
from livefusion.inference.onnx_file import read_graph
from livefusion.inference.onnx_graph import OnnxGraph

LARGEST: Final = (1 << 31) - 1
"""Bytes of the largest message that Protocol Buffers parse, and so of an ONNX file."""
OPSETS: Final = (7, 26)
"""Versions of ONNX's operators that ONNX Runtime 1.32 guarantees to run."""
OWN_DOMAINS: Final = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""Whose operators ONNX Runtime has itself."""

_EXPORT = "export it as .onnx, or get the .onnx file"
_HEAD = 64
_MAGIC: Final = (
    (re.compile(rb"PK\x03\x04"), "a zip archive or a PyTorch checkpoint", _EXPORT),
    (re.compile(rb"\x80[\x02-\x05][\x8a}(c\x95]"), "a pickle, which would run code when opened", _EXPORT),
    (re.compile(rb".{8}\{\"", re.DOTALL), "a safetensors file: weights without a graph", _EXPORT),
    (re.compile(rb"\x89HDF"), "an HDF5 file of Keras", _EXPORT),
    (re.compile(rb".{4}TFL3", re.DOTALL), "a TensorFlow Lite file", _EXPORT),
    (re.compile(rb".{4}ORTM", re.DOTALL), "a file of ONNX Runtime's own format", _EXPORT),
    (re.compile(rb"ftrt|ptrt"), "an engine of TensorRT, which fits one GPU alone", "give the .onnx file"),
    (
        re.compile(rb"version https://git-lfs"),
        "a pointer of Git LFS in place of the file",
        "run `git lfs pull` where you got it, or download the file itself",
    ),
    (
        re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE),
        "a web page in place of the file",
        "the download went wrong: get the file again",
    ),
)


def vet(path: Path) -> OnnxGraph:
    """The graph of a file that may be loaded.

    ``ModelError`` says what else it is: another format, too large, cut short, damaged, with weights in other
    files, foreign operators, or of a version that ONNX Runtime does not run.
    """
    _vet_outside(path)
    graph = read_graph(path)
    if graph.external:
        names = f"{graph.external[0] or 'a weight'} and {len(graph.external) - 1} more"
        raise ModelError(
            f"{path.name} keeps weights in other files ({names})",
            "a model must be one file: save it with `onnx.save(onnx.load(FILE), NEW)`",
        )
    _vet_operators(path, graph)
    _vet_version(path, graph)
    _vet_types(path, graph)
    return graph


def _vet_outside(path: Path) -> None:
    try:
        size = path.stat().st_size
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would be waited for
            raise ModelError(f"{path} is no file", "give an .onnx file")
        if path.is_dir():
            raise ModelError(f"{path} is a folder", "give the .onnx file in it")
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})", "see that the file is there") from error
    if not size:
        raise ModelError(f"{path.name} is empty", "get the file again")
    for magic, what, remedy in _MAGIC:
        if magic.match(head):
            raise ModelError(f"{path.name} is {what}", remedy)
    if size > LARGEST:
        raise ModelError(
            f"{path.name} has {size / 1e9:.1f} GB, and an ONNX file has at most 2.1",
            "no face network is so large: get the right file",
        )


def _vet_operators(path: Path, graph: OnnxGraph) -> None:
    own = OWN_DOMAINS | graph.functions
    foreign = sorted({node.domain for node in (*graph.nodes, *graph.inner) if node.domain not in own})
    if foreign:
        operators = sorted({node.op for node in (*graph.nodes, *graph.inner) if node.domain == foreign[0]})
        raise ModelError(
            f"{path.name} needs operators that are not ONNX's ({foreign[0]}: {', '.join(operators[:3])})",
            "no library of operators is ever loaded: export it without them",
        )


def _vet_version(path: Path, graph: OnnxGraph) -> None:
    oldest, newest = OPSETS
    if not oldest <= graph.opset <= newest:
        raise ModelError(
            f"{path.name} has version {graph.opset} of ONNX's operators, and {oldest} to {newest} are run",
            "convert it with onnx.version_converter, or export it with opset 17",
        )


def _vet_types(path: Path, graph: OnnxGraph) -> None:
    for spec in (*graph.inputs, *graph.outputs):
        if spec.dtype not in {"float32", "float16", "float64", "int64", "int32", "uint8", "bool"}:
            raise ModelError(
                f"{path.name} takes or gives {spec.name or 'a tensor'} as {spec.dtype or 'something else'}",
                "no network of faces does: get the right file",
            )
