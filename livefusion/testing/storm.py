"""Faults in such quick succession that ten thousand of them take minutes: one each few pictures.

``chaos_run`` waits after each fault until all is well; here the next one meets a graph that has not got over
the last. Stages are opened again after a millisecond, and what takes seconds by its nature (a part that
hangs) is left to ``chaos_run``.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from livefusion.core.events import Discontinuity, FormatChange
from livefusion.core.settings import MissingFacePolicy, Pace, SafetySettings, Settings
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.permit import CONSENT_WITHDRAWN, FREE, Permit
from livefusion.provenance.audit import NOWHERE
from livefusion.runtime.backoff import RestartPolicy
from livefusion.testing.chaos_source import ChaosSource
from livefusion.testing.court import ChaosResult, Court
from livefusion.testing.faults import FaultBoard, FaultyDevice, FragileDevice, Mishap
from livefusion.testing.injections import ANALYSE, RENDER, Entry, Reels, Scene
from livefusion.testing.mark import no_mark

RESTARTS: Final = RestartPolicy(first_ns=1_000_000, longest_ns=2_000_000, failures=1_000_000)
POLICIES: Final = (MissingFacePolicy.BLUR, MissingFacePolicy.SAFE, MissingFacePolicy.HOLD)
NETWORKS: Final = ("yunet", "face_landmarks", "sface")
SINKS: Final = 3
_WORK = (*ANALYSE, *RENDER, "yunet")
_GAPS = (1, 1, 1, 2, 2, 3, 6)
_LONGEST_WAIT = 6
"""Pictures for which a fault is waited for before the next; it stays armed."""
_MOST_PICTURES = 12
"""Pictures for each fault, at the most: some work is done only now and then, and its fault waits for it."""

Blow = Callable[["Storm"], Iterator[Entry]]


@dataclass(slots=True)
class Storm:
    """What a storm plays with; ``struck`` counts what it did itself, beside what the board notes."""

    scene: Scene
    pipeline: Callable[[], Pipeline]
    prefixes: tuple[str, ...] = ("",)
    struck: Counter[str] = field(default_factory=Counter)

    @property
    def rng(self) -> random.Random:
        """The storm's dice."""
        return self.scene.rng

    @property
    def total(self) -> int:
        """Faults until now."""
        return len(self.scene.board.strikes) + self.struck.total()

    def arm(self, work: str, mishap: Mishap, seconds: float = 0.0) -> str:
        """Have work fail; on a fragile device its name begins with that of the thread. Gives its name."""
        thread = "analyse" if work in ANALYSE or work in NETWORKS else "render"
        name = f"{thread}:{work}" if len(self.prefixes) > 1 else work
        self.scene.board.arm(name, mishap, seconds)
        return name


def _fails(mishap: Mishap, longest: float = 0.0) -> Blow:
    def blow(storm: Storm) -> Iterator[Entry]:
        name = storm.arm(storm.rng.choice(_WORK), mishap, storm.rng.uniform(0, longest))
        for _ in range(_LONGEST_WAIT):
            yield from storm.scene.play(1)
            if not storm.scene.board.is_armed(name):
                break
        yield from storm.scene.play(storm.rng.choice(_GAPS))

    return blow


def _blind(storm: Storm) -> Iterator[Entry]:
    work = storm.rng.choice(NETWORKS[:2])
    storm.scene.board.arm(work, Mishap.BLIND)
    yield from storm.scene.play(storm.rng.randint(1, 3))
    storm.scene.board.disarm(work)


def _cut(storm: Storm) -> Iterator[Entry]:
    scene = storm.scene
    scene.switch(scene.rng.choice([scene.reels.here, scene.reels.there]))
    storm.struck["source cut"] += 1
    yield from scene.play(1)


def _gap(storm: Storm) -> Iterator[Entry]:
    yield storm.rng.uniform(0.02, 0.06)
    if storm.rng.random() < 0.5:
        yield Discontinuity("the camera is back")
    storm.struck["source gap"] += 1
    yield from storm.scene.play(1)


def _format(storm: Storm) -> Iterator[Entry]:
    for reel in (storm.scene.reels.other_format, storm.scene.reels.here):
        yield FormatChange(reel.size, reel.color)
        storm.scene.switch(reel)
        yield from storm.scene.play(2)
    storm.struck["source format"] += 1


def _panic(storm: Storm) -> Iterator[Entry]:
    storm.pipeline().panic.engage()
    yield from storm.scene.play(1)
    storm.pipeline().panic.lift()
    storm.struck["policy panic"] += 1


def _consent(storm: Storm) -> Iterator[Entry]:
    plans = storm.pipeline().plans
    plans.allow(plans.current().identity, Permit(CONSENT_WITHDRAWN))
    yield from storm.scene.play(1)
    plans.allow(plans.current().identity, FREE)
    storm.struck["policy consent"] += 1


def _gate(storm: Storm) -> Iterator[Entry]:
    plans = storm.pipeline().plans
    plans.gate("Content withheld")
    yield from storm.scene.play(1)
    plans.gate("")
    storm.struck["policy gate"] += 1


def _missing(storm: Storm) -> Iterator[Entry]:
    plans = storm.pipeline().plans
    plan = plans.current()
    safety = plan.safety.model_copy(update={"on_missing_face": storm.rng.choice(POLICIES)})
    plans.begin(replace(plan, safety=safety))
    storm.struck[f"policy {safety.on_missing_face}"] += 1
    yield from storm.scene.play(1)


BLOWS: Final[tuple[tuple[Blow, int], ...]] = (
    (_fails(Mishap.RAISES), 34),
    (_fails(Mishap.LATE, 0.012), 10),
    (_fails(Mishap.STARVED), 8),
    (_blind, 12),
    (_cut, 8),
    (_gap, 5),
    (_format, 2),
    (_panic, 6),
    (_consent, 6),
    (_gate, 4),
    (_missing, 5),
)
"""What may happen next, and how often of a hundred times."""


def run_storm(reels: Reels, faults: int, seed: int, *, fragile: bool = False, fps: int = 60) -> ChaosResult:
    """Run the graph through a storm of so many faults before three judges, of which two fail on the way.

    A ``fragile`` device is lost at the end of it, and the rest is played on the CPU.
    """
    board, rng = FaultBoard(), random.Random(seed)
    device = FragileDevice("fragile", board) if fragile else FaultyDevice(board)
    holder: list[Pipeline] = []
    storms: list[Storm] = []

    def play(scene: Scene) -> Iterator[Entry]:
        storm = Storm(scene, lambda: holder[0], ("analyse", "render") if fragile else ("",))
        storms.append(storm)
        yield from _play(storm, faults)
        board.disarm_all()
        if fragile:
            storm.arm(rng.choice(RENDER), Mishap.LOST)
        yield from scene.play(8)

    source = ChaosSource(device, reels, [("storm", play)], board=board, rng=rng, fps=fps)
    court = Court(source, board)
    parts = Parts(
        trail=NOWHERE,
        device=device,
        source=lambda _: source,
        sinks=[court.seat(f"sink {number}") for number in range(SINKS)],
        restarts=RESTARTS,
        mark=no_mark,
    )
    safety = SafetySettings(on_missing_face=rng.choice(POLICIES))
    holder.append(Pipeline(Settings(input="storm:", pace=Pace.REALTIME, safety=safety), parts=parts))
    result = court.hear(holder[0])
    struck = Counter(
        f"{strike.work.partition(':')[2] or strike.work} {strike.mishap}" for strike in board.strikes
    )
    result.struck = sum((storm.struck for storm in storms), struck)
    return result


def _play(storm: Storm, faults: int) -> Iterator[Entry]:
    blows, weights = zip(*BLOWS, strict=True)
    for _ in range(_MOST_PICTURES * faults):
        if storm.total >= faults:
            return
        if storm.total > faults // 2:  # each sink but the first dies on the way
            for number in range(1, SINKS):
                if f"sink {number}" not in (strike.work for strike in storm.scene.board.strikes):
                    storm.scene.board.arm(f"sink {number}", Mishap.RAISES)
        yield from storm.rng.choices(blows, weights)[0](storm)
