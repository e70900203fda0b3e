"""One thing that is looked at in a photo: its score, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FINE = 70
"""From this score on there is nothing to be said."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that could be better about a photo that can be used."""

    photo: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.photo}: {self.problem}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a photo scores in one respect, 0 to 100.

    ``problem`` and ``remedy`` are what is to be said where the score is not fine; ``fatal`` if nothing
    believable can be made of such a photo.
    """

    name: str
    score: int
    problem: str = ""
    remedy: str = ""
    fatal: bool = False

    @property
    def fine(self) -> bool:
        """Whether there is nothing to be said."""
        return self.score >= FINE and not self.fatal


def graded(value: float, *steps: tuple[float, float]) -> int:
    """The score of a value: ``steps`` are (value, score) in rising values, straight lines between them."""
    places: Sequence[float] = [place for place, _ in steps]
    return round(float(np.interp(value, places, [score for _, score in steps])))
