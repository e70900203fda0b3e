"""Proof of where a network runs: ONNX Runtime falls back to the CPU in silence, this does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

from livefusion.core.errors import DeviceError

# Each has a kernel for CUDA: ONNX Runtime leaves one on the CPU only where it reckons with the shape of
# something, some numbers that it knows there anyway. Compress, NonZero and their like are not among them.
SHAPE_OPERATORS: Final = frozenset(
    {
        *("Shape", "Size", "Constant", "ConstantOfShape", "Range", "Expand", "Where", "Equal", "Less"),
        *("Gather", "Slice", "Concat", "Split", "Squeeze", "Unsqueeze", "Reshape", "Transpose", "Identity"),
        *("Cast", "Add", "Sub", "Mul", "Div", "Mod", "Floor", "Ceil", "Min", "Max", "ReduceProd", "Not"),
    }
)
"""Operators that may be left to the CPU by networks of the user's."""


@dataclass(frozen=True, slots=True)
class Placement:
    """How many of a network's nodes the wanted provider got, of all nodes; `elsewhere` counts the others.

    `shapes` names their operators where they may be elsewhere, since they reckon with shapes alone.
    """

    provider: str
    nodes: int
    total: int
    elsewhere: tuple[tuple[str, int], ...] = ()
    shapes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Tell whether every node runs where it was asked to."""
        return self.nodes == self.total

    def __str__(self) -> str:
        rest = "".join(f", {count} on {provider}" for provider, count in self.elsewhere)
        return f"{self.provider} {self.nodes}/{self.total}{rest}"


def prove_placement(session: Any, provider: str, model: str) -> Placement:
    """Return where the nodes of an ONNX Runtime session were placed when it was loaded.

    The session must have been made with `session.record_ep_graph_assignment_info`.
    Raises DeviceError when the wanted provider is not active or got no node at all.
    """
    active = session.get_providers()
    counts: Counter[str] = Counter()
    for part in session.get_provider_graph_assignment_info():
        counts[part.ep_name] += len(part.get_nodes())
    placement = _placement(provider, counts)
    if provider not in active or (placement.total and not placement.nodes):
        raise DeviceError(
            f"model {model} was to run on {provider} but runs on {placement if placement.total else active}",
            "run `livefusion doctor` for what this machine lacks, or use --device cpu",
        )
    return placement


def allow_shapes(placement: Placement, session: Any, model: str) -> Placement:
    """The placement, with the operators named that run elsewhere; ``DeviceError`` for one with more to do."""
    found = {
        node.op_type
        for part in session.get_provider_graph_assignment_info()
        if part.ep_name != placement.provider
        for node in part.get_nodes()
    }
    if heavy := sorted(found - SHAPE_OPERATORS):
        raise DeviceError(
            f"model {model} has nodes that {placement.provider} cannot run ({', '.join(heavy)})",
            "use --device cpu, or another export of it",
        )
    return replace(placement, shapes=tuple(sorted(found)))


def _placement(provider: str, counts: Counter[str]) -> Placement:
    elsewhere = tuple(sorted((name, count) for name, count in counts.items() if name != provider))
    return Placement(provider, counts[provider], counts.total(), elsewhere)
