"""What independent judges saw of a graph in which things went wrong."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from livefusion.core.errors import LiveFusionError
from livefusion.core.frame import Outcome
from livefusion.devices.device import Device
from livefusion.media.formats import OutputFormat
from livefusion.pipeline.assemble import Pipeline
from livefusion.testing.chaos_source import ChaosSource
from livefusion.testing.faults import FaultBoard
from livefusion.testing.judge import Exposure, JudgeSink, Sample

_END_SECONDS = 3.0


@dataclass(slots=True)
class ChaosResult:
    """What came of runs: injections that struck, by name, and what the judges counted.

    ``resumed_ms`` are times from a stage's exception to the next swapped picture at the sink, ``gap_ms`` the
    longest time without a picture, ``largest_share`` the most skin of the source that any picture showed.
    """

    struck: Counter[str] = field(default_factory=Counter)
    pictures: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    raw: list[Exposure] = field(default_factory=list)
    largest_share: float = 0.0
    out_of_order: int = 0
    threads_left: list[str] = field(default_factory=list)
    resumed_ms: list[float] = field(default_factory=list)
    gap_ms: float = 0.0
    errors: list[str] = field(default_factory=list)
    unrecovered: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def add(self, other: "ChaosResult") -> None:
        """Take in another run."""
        self.struck += other.struck
        self.pictures += other.pictures
        self.outcomes += other.outcomes
        self.raw += other.raw
        self.largest_share = max(self.largest_share, other.largest_share)
        self.out_of_order += other.out_of_order
        self.threads_left += other.threads_left
        self.resumed_ms += other.resumed_ms
        self.gap_ms = max(self.gap_ms, other.gap_ms)
        self.errors += other.errors
        self.unrecovered += other.unrecovered
        self.samples += other.samples


class Court:
    """Judges beside each other, each a sink that fails when the board says so; the first must be well.

    ``judges`` are there once the pipeline has started.
    """

    def __init__(self, source: ChaosSource, board: FaultBoard) -> None:
        self.judges: list[JudgeSink] = []
        self._source = source
        self._board = board
        self._before = set(threading.enumerate())
        source.is_well = lambda since_ns: bool(self.judges) and self.judges[0].is_well(since_ns)

    def seat(self, name: str) -> Callable[[Device, OutputFormat], JudgeSink]:
        """What makes the judge of that name, for ``Parts.sinks``."""

        def make(where: Device, form: OutputFormat) -> JudgeSink:
            before_write = lambda: self._board.meet(name)  # noqa: E731
            self.judges.append(JudgeSink(where, self._source, before_write=before_write, name=name))
            return self.judges[-1]

        return make

    def hear(self, pipeline: Pipeline) -> ChaosResult:
        """Run to the end, and add up what the judges saw."""
        errors: list[str] = []
        try:
            pipeline.start()
            pipeline.wait()
        except LiveFusionError as error:
            errors.append(str(error))
        finally:
            self._board.release()
            pipeline.stop()
        judges = self.judges
        return ChaosResult(
            pictures=sum(len(judge.sightings) for judge in judges),
            outcomes=sum((judge.outcomes for judge in judges), Counter()),
            raw=[exposure for judge in judges for exposure in judge.raw],
            largest_share=max((judge.largest_share for judge in judges), default=0.0),
            out_of_order=sum(judge.out_of_order for judge in judges),
            unrecovered=self._source.unrecovered,
            errors=errors,
            threads_left=threads_left(self._before),
        )


def threads_left(before: set[threading.Thread]) -> list[str]:
    """Names of threads that are alive now and were not before, after up to three seconds."""
    end = time.monotonic() + _END_SECONDS
    for thread in threading.enumerate():
        if thread not in before:
            thread.join(max(0.0, end - time.monotonic()))
    return [thread.name for thread in threading.enumerate() if thread not in before]
