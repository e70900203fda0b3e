"""Figures of a measure: a mean with its worst value, or the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Figure:
    """``mean`` and ``worst`` of ``count`` values; both None where ``reason`` says why there is no figure."""

    mean: float | None
    worst: float | None = None
    count: int = 0
    reason: str = ""

    @staticmethod
    def of(values: Sequence[float], *, worst: str = "max", reason: str = "no face was swapped") -> "Figure":
        """The figure of values of which the greatest (``max``) or the least (``min``) is worst."""
        finite = [value for value in values if np.isfinite(value)]
        if not finite:
            return Figure(None, reason=reason)
        extreme = max(finite) if worst == "max" else min(finite)
        return Figure(float(np.mean(finite)), float(extreme), len(finite))

    @staticmethod
    def single(value: float, count: int = 1) -> "Figure":
        """One value that is not a mean of others."""
        return Figure(float(value), None, count)

    @staticmethod
    def none(reason: str) -> "Figure":
        """No figure, and why."""
        return Figure(None, reason=reason)

    def as_json(self) -> dict[str, float | int | str | None]:
        """As it stands in the document."""
        if self.mean is None:
            return {"mean": None, "reason": self.reason}
        found: dict[str, float | int | str | None] = {"mean": round(self.mean, 4), "n": self.count}
        if self.worst is not None:
            found["worst"] = round(self.worst, 4)
        return found


Figures = dict[str, Figure]
