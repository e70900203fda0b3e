"""What to measure of a clip, and what to write beside the figures."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from livefusion.evaluation.occluders import KINDS
from livefusion.evaluation.second_judge import Judge

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """``truth`` is a file of landmarks; the performer needs none.

    ``occluders`` are drawn into the first ``occluded_pictures`` with a face, each kind in a run of its own;
    ``still_pictures`` is the length of the still, 0 leaves it out. ``judge`` is the second network, None with
    ``no_judge`` as the reason, asked in each ``judge_every`` pictures. ``sheet`` and ``video`` are files to
    write; ``tell`` is told how it is going.
    """

    truth: Path | None = None
    occluders: tuple[str, ...] = KINDS
    occluded_pictures: int = 24
    still_pictures: int = 32
    judge: Judge | None = None
    no_judge: str = "not asked for"
    judge_every: int = 5
    sheet: Path | None = None
    sheet_every: int | None = None
    video: Path | None = None
    tell: Tell = lambda text: None
