"""What a photo scores in all."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from livefusion.swap.intake.criterion import Advice, Criterion


@dataclass(frozen=True, slots=True)
class PhotoScore:
    """The criteria of a photo, in the order in which they were looked at."""

    photo: str
    criteria: tuple[Criterion, ...]

    @property
    def overall(self) -> int:
        """0 to 100: the mean of its criteria, drawn half-way down to the worst, which is what will show."""
        scores = [criterion.score for criterion in self.criteria]
        return round((sum(scores) / len(scores) + min(scores)) / 2)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What could be better, worst first."""
        poor = sorted((each for each in self.criteria if not each.fine), key=lambda each: each.score)
        return tuple(Advice(self.photo, each.problem, each.remedy) for each in poor)

    @property
    def refusal(self) -> Criterion | None:
        """Why nothing believable can be made of it; None if it can be used."""
        return next((each for each in self.criteria if each.fatal), None)

    def least(self, names: Iterable[str]) -> int:
        """The least score among criteria of these names; 100 if none was looked at."""
        wanted = set(names)
        return min((each.score for each in self.criteria if each.name in wanted), default=100)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "photo": self.photo,
            "overall": self.overall,
            "usable": self.refusal is None,
            "criteria": {each.name: each.score for each in self.criteria},
            "advice": [{"problem": each.problem, "remedy": each.remedy} for each in self.advice],
        }
