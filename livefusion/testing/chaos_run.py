"""The whole graph under a script of injections, and what an independent judge saw of it."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from livefusion.core.settings import Pace, SafetySettings, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.services import Limits
from livefusion.testing.chaos_source import ChaosSource
from livefusion.testing.court import ChaosResult, Court
from livefusion.testing.faults import FaultBoard, FaultyDevice, Mishap
from livefusion.testing.injections import INJECTIONS, Injection, Reels, sink_fails, source_raises
from livefusion.testing.judge import Sighting
from livefusion.testing.mark import no_mark

LIMITS = Limits(stage_ns=NANOSECONDS // 2, sink_ns=2 * NANOSECONDS)
"""Shorter than in earnest, so that a thousand stalls take minutes and not hours.

A stage that a busy machine held up for so long is opened again; a sink is given up for good, the judge's own
too, and a machine of two cores was seen to stop one for more than 0.4 s: so sinks are given longer.
"""
RESTARTS = RestartPolicy(longest_ns=NANOSECONDS // 10, failures=1_000_000)
"""The first back-off, 0.1 s, for every failure: each one is to count as the first."""
_SINK_MISHAPS = (Mishap.RAISES, Mishap.STALLS, Mishap.LATE)

Script = Sequence[tuple[str, Injection]]


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
    board, rng = FaultBoard(), random.Random(seed)
    device = FaultyDevice(board)
    source = ChaosSource(device, reels, script, board=board, rng=rng, fps=fps)
    court = Court(source, board)
    parts = Parts(
        trail=NOWHERE,
        device=device,
        source=lambda _: source,
        sinks=[court.seat("sink"), *(court.seat(f"sink {mishap}") for mishap in _SINK_MISHAPS)],
        limits=LIMITS,
        restarts=RESTARTS,
        mark=no_mark,  # the judge compares bytes
    )
    settings = Settings(input="chaos:", pace=Pace.REALTIME, safety=safety or SafetySettings())
    result = court.hear(Pipeline(settings, parts=parts))
    result.struck = source.struck + Counter({"source raises": int(source.failed)})
    main = court.judges[0]
    result.resumed_ms = _resumed(board, main.sightings)
    result.gap_ms = _longest_gap(main.sightings)
    result.samples = main.samples
    return result


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
