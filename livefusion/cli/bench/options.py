"""What a scenario is told."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """``seconds`` of picture for each live scenario, ``faults`` injections in all, ``seed`` for every draw.

    ``folder`` takes clips and recordings; ``note`` tells the user what is being measured now. ``keep`` asks
    for contact sheets and outputs to be left in the folder. ``engine`` is the swap network that scenarios of
    engines measure, of a ``family`` if its file does not tell. ``whole`` has families measured
    through the whole graph, too.
    """

    seconds: float
    faults: int
    seed: int
    folder: Path
    note: Callable[[str], None]
    keep: bool = False
    engine: str = ""
    family: str = ""
    whole: bool = False
