"""The outside of a network: what it takes and gives, its operations, and where its weights lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.inference.registry import TensorSpec

AGAIN = "get the file again"


@dataclass(frozen=True, slots=True)
class Initializer:
    """A tensor of weights: ``start`` and ``size`` are where its bytes lie in the file, 0 if not in one run.

    ``external`` says that they lie in another file.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int
    external: bool = False

    def read(self, path: Path) -> npt.NDArray[Any]:
        """The values. ``ModelError`` if they are not in the file, or not as many as the shape says."""
        try:
            stored = np.dtype(self.dtype).newbyteorder("<")
            with path.open("rb") as file:
                file.seek(self.start)
                content = file.read(min(self.size, path.stat().st_size))
            return np.frombuffer(content, stored).reshape(self.shape).astype(self.dtype)
        except (OSError, TypeError, ValueError) as error:
            raise ModelError(f"tensor {self.name} of {path.name} cannot be read", AGAIN) from error


@dataclass(frozen=True, slots=True)
class Node:
    """An operation of the graph."""

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class OnnxGraph:
    """The outside of a network, its operations, and where its weights lie.

    ``inputs`` are those that a caller has to give: initializers that are listed as inputs are left out. A
    free axis has its name, or ``axisN``. ``nodes`` are those of the graph itself; ``inner`` those of its
    subgraphs and functions. ``external`` names tensors that lie in other files, ``functions`` the domains
    that the file itself defines, ``constants`` the tensors that stand in nodes. ``output_sizes`` are where in
    the file the sizes of the outputs stand (``ModelEntry.loosened``).
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    initializers: tuple[Initializer, ...]
    nodes: tuple[Node, ...]
    opsets: dict[str, int]
    producer: str = ""
    ir_version: int = 0
    metadata: dict[str, str] = field(default_factory=dict)
    inner: tuple[Node, ...] = ()
    constants: tuple[Initializer, ...] = ()
    functions: frozenset[str] = frozenset()
    output_sizes: tuple[int, ...] = ()

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators; 0 if the file names none."""
        return self.opsets.get("", self.opsets.get("ai.onnx", 0))

    @cached_property
    def consumed(self) -> frozenset[str]:
        """Names of all tensors that an operation reads, those of subgraphs included."""
        return frozenset(name for node in (*self.nodes, *self.inner) for name in node.inputs)

    @property
    def external(self) -> tuple[str, ...]:
        """Names of the tensors that lie in other files."""
        return tuple(one.name for one in (*self.initializers, *self.constants) if one.external)

    @cached_property
    def weight_dtype(self) -> str:
        """The float type of most weights, whatever the file is called; ``float32`` if there are none."""
        return _most((weight.dtype, prod(weight.shape)) for weight in (*self.initializers, *self.constants))

    @cached_property
    def inner_dtype(self) -> str:
        """The float type that it computes in: weights kept in halves may be cast before they are read."""
        nodes = (*self.nodes, *self.inner)
        read = {name for node in nodes if node.op != "Cast" for name in node.inputs}
        cast = {name for node in nodes if node.op == "Cast" for name in node.inputs} - read
        return _most(
            ("float32" if weight.name in cast else weight.dtype, prod(weight.shape))
            for weight in (*self.initializers, *self.constants)
        )


def _most(weights: Iterable[tuple[str, int]]) -> str:
    """The float type of most numbers of some (type, count); ``float32`` if there are none."""
    counts: dict[str, int] = {}
    for dtype, count in weights:
        if "float" in dtype:
            counts[dtype] = counts.get(dtype, 0) + count
    return max(counts, key=lambda name: counts[name]) if counts else "float32"
