"""What ``doctor`` found out about one thing."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class State(StrEnum):
    """How it stands."""

    OK = "ok"
    LACKING = "lacking"  # not there, and the main job does without it
    BROKEN = "broken"  # the main job cannot run


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of ``doctor``; ``remedy`` is what to do, a step a line, or empty."""

    name: str
    state: State
    detail: str
    remedy: str = ""

    def as_json(self) -> dict[str, str]:
        """The finding as plain JSON values."""
        return {key: str(value) for key, value in asdict(self).items()}
