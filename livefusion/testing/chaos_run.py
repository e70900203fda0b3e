"""The whole graph under a script of injections, and what an independent judge saw of it."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from livefusion.core.errors import LiveFusionError
from livefusion.core.frame import Outcome
from livefusion.core.settings import Pace, SafetySettings, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.device import Device
from livefusion.media.formats import OutputFormat
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.services import Limits
from livefusion.testing.chaos_source import ChaosSource
from livefusion.testing.faults import FaultBoard, FaultyDevice, Mishap
from livefusion.testing.injections import INJECTIONS, Injection, Reels, sink_fails, source_raises
from livefusion.testing.judge import Exposure, JudgeSink, Sample, Sighting
from livefusion.testing.mark import no_mark

LIMITS = Limits(stage_ns=NANOSECONDS // 2, sink_ns=2 * NANOSECONDS)
"""Shorter than in earnest, so that a thousand stalls take minutes and not hours.

A stage that a busy machine held up for so long is opened again; a sink is given up for good, the judge's own
too, and a machine of two cores was seen to stop one for more than 0.4 s: so sinks are given longer.
"""
RESTARTS = RestartPolicy(longest_ns=NANOSECONDS // 10, failures=1_000_000)
"""The first back-off, 0.1 s, for every failure: each one is to count as the first."""
_SINK_MISHAPS = (Mishap.RAISES, Mishap.STALLS, Mishap.LATE)
_END_SECONDS = 3.0

Script = Sequence[tuple[str, Injection]]


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


def draw_script(rng: random.Random, injections: int) -> Script:
    """A run's injections: any that travel with the pictures, one for each sink that may fail, the end."""
    names = list(INJECTIONS)
    script = [(name, INJECTIONS[name]) for name in rng.choices(names, k=max(0, injections - 4))]
    for mishap in _SINK_MISHAPS:
        name = f"sink {mishap}"
        script.insert(rng.randrange(len(script) + 1), (name, sink_fails(name, mishap)))
    return [*script, ("source raises", source_raises)]


def run_chaos(
    reels: Reels, script: Script, seed: int, *, safety: SafetySettings | None = None, fps: int = 60
) -> ChaosResult:
    """Run the graph on a faulty CPU device through a script; four sinks, of which three may fail."""
    before = set(threading.enumerate())
    board, rng = FaultBoard(), random.Random(seed)
    device = FaultyDevice(board)
    source = ChaosSource(device, reels, script, board=board, rng=rng, fps=fps)
    judges: list[JudgeSink] = []

    def judge(name: str) -> Callable[[Device, OutputFormat], JudgeSink]:
        def make(where: Device, form: OutputFormat) -> JudgeSink:
            sink = JudgeSink(where, source, before_write=lambda: board.meet(name), name=name)
            judges.append(sink)
            return sink

        return make

    source.is_well = lambda since_ns: bool(judges) and judges[0].is_well(since_ns)
    parts = Parts(
        device=device,
        source=lambda _: source,
        sinks=[judge("sink"), *(judge(f"sink {mishap}") for mishap in _SINK_MISHAPS)],
        limits=LIMITS,
        restarts=RESTARTS,
        mark=no_mark,  # the judge compares bytes
    )
    settings = Settings(input="chaos:", pace=Pace.REALTIME, safety=safety or SafetySettings())
    pipeline = Pipeline(settings, parts=parts)
    errors: list[str] = []
    try:
        pipeline.start()
        pipeline.wait()
    except LiveFusionError as error:
        errors.append(str(error))
    finally:
        board.release()
        pipeline.stop()
    result = _judged(judges, board, source)
    result.errors = errors
    result.threads_left = threads_left(before)
    return result


def threads_left(before: set[threading.Thread]) -> list[str]:
    """Names of threads that are alive now and were not before, after up to three seconds."""
    end = time.monotonic() + _END_SECONDS
    for thread in threading.enumerate():
        if thread not in before:
            thread.join(max(0.0, end - time.monotonic()))
    return [thread.name for thread in threading.enumerate() if thread not in before]


def _judged(judges: Sequence[JudgeSink], board: FaultBoard, source: ChaosSource) -> ChaosResult:
    main = judges[0]
    return ChaosResult(
        struck=source.struck + Counter({"source raises": int(source.failed)}),
        pictures=sum(len(judge.sightings) for judge in judges),
        outcomes=sum((judge.outcomes for judge in judges), Counter()),
        raw=[exposure for judge in judges for exposure in judge.raw],
        largest_share=max(judge.largest_share for judge in judges),
        out_of_order=sum(judge.out_of_order for judge in judges),
        resumed_ms=_resumed(board, main.sightings),
        gap_ms=_longest_gap(main.sightings),
        unrecovered=source.unrecovered,
        samples=main.samples,
    )


def _resumed(board: FaultBoard, sightings: Sequence[Sighting]) -> list[float]:
    """From each exception in a stage to the next picture captured later that is swapped, ms."""
    times = []
    for strike in board.strikes:
        if strike.mishap is not Mishap.RAISES or strike.work.startswith("sink"):
            continue
        later = (one.at_ns for one in sightings if one.shows_swap_since(strike.at_ns))
        back_ns = next(later, None)
        if back_ns is not None:
            times.append((back_ns - strike.at_ns) / 1e6)
    return times


def _longest_gap(sightings: Sequence[Sighting]) -> float:
    return max((later.at_ns - earlier.at_ns for earlier, later in pairwise(sightings)), default=0) / 1e6
