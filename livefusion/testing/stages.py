"""Parts for a graph under test: a scripted source, null, slow and failing stages, a sink that remembers."""

import random
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from livefusion.core.events import Eos, Event
from livefusion.core.timing import Clock, SystemClock
from livefusion.core.trace import FrameTrace
from livefusion.runtime.alarm import Alarm
from livefusion.runtime.stage import Drop, StageContext


@dataclass(frozen=True, slots=True)
class ScriptedItem:
    """An item without a picture; ``safe`` is True once a fallback made it."""

    seq: int
    captured_ns: int = 0
    epoch: int = 0
    safe: bool = False
    trace: FrameTrace = field(default_factory=FrameTrace, compare=False)


def fork_scripted(item: ScriptedItem) -> ScriptedItem:
    """The same item with a trace of its own, for a graph's ``fork``."""
    return replace(item, trace=item.trace.fork())


class ScriptedSource:
    """Gives a script of items, events and errors, one each ``interval_ns`` (0: as fast as it is read).

    Items are stamped with the time at which they are due; an exception in the script is raised by ``read``.
    """

    def __init__(self, script: Iterable[Any], interval_ns: int = 0) -> None:
        self._script = iter(script)
        self._interval_ns = interval_ns
        self._interrupted = threading.Event()
        self._stop: Alarm | None = None
        self._clock: Clock = SystemClock()
        self._next_ns = 0

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        self._clock = context.clock
        self._stop = Alarm(context.clock)
        if self._interrupted.is_set():
            self._stop.set()

    def read(self) -> Any:
        """The next entry of the script when it is due; ``Eos`` after the last one."""
        entry = next(self._script, Eos())
        if isinstance(entry, BaseException):
            raise entry
        if isinstance(entry, Event) or self._stop is None:
            return entry
        now_ns = self._clock.now_ns()
        self._next_ns = self._next_ns or now_ns
        due_ns = self._next_ns if self._interval_ns else now_ns
        self._next_ns += self._interval_ns
        if self._stop.wait_until(due_ns):
            return Eos()
        return replace(entry, captured_ns=due_ns)

    def interrupt(self) -> None:
        """End the script."""
        self._interrupted.set()
        if self._stop is not None:
            self._stop.set()

    def close(self) -> None:
        """Nothing to give back."""


class NullStage:
    """Passes everything on. Base of the other stages; notes whether it is open and what it handled."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0
        self.events: list[Event] = []

    def open(self, context: StageContext) -> None:
        """Count."""
        self.opened += 1

    def process(self, item: Any) -> Any:
        """The item itself."""
        return item

    def fallback(self, item: Any, error: BaseException | None) -> Any:
        """The item, marked as safe."""
        return replace(item, safe=True)

    def handle(self, event: Event) -> None:
        """Note the event."""
        self.events.append(event)

    def close(self) -> None:
        """Count."""
        self.closed += 1


class SlowStage(NullStage):
    """Takes ``duration_ns`` of the graph's clock for each item."""

    def __init__(self, duration_ns: int) -> None:
        super().__init__()
        self._duration_ns = duration_ns
        self._never: Alarm | None = None

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        super().open(context)
        self._never = Alarm(context.clock)

    def process(self, item: Any) -> Any:
        """The item itself, late."""
        if self._never is not None:
            self._never.wait(self._duration_ns)
        return item


class Fault(StrEnum):
    """What a failing stage does with an item instead of its work."""

    RAISE = "raise"
    STALL = "stall"  # until ``FaultPlan.release``
    LATE = "late"  # comes back after ``FaultPlan.late_ns``
    DROP = "drop"
    FALLBACK = "fallback"  # raises, and its fallback raises too


class InjectedError(RuntimeError):
    """What a failing stage raises."""


class FaultPlan:
    """Which call of ``process`` meets which fault; shared by all instances of a stage, so restarts go on.

    ``release`` lets every stalled call return, for the end of a test.
    """

    def __init__(self, faults: Mapping[int, Fault], late_ns: int = 0) -> None:
        self.late_ns = late_ns
        self.injected: list[tuple[int, Fault]] = []
        self._faults = dict(faults)
        self._calls = 0
        self._lock = threading.Lock()
        self._released = threading.Event()

    @staticmethod
    def seeded(
        seed: int, calls: int, rate: float, kinds: tuple[Fault, ...] = tuple(Fault), late_ns: int = 0
    ) -> "FaultPlan":
        """Faults of the given kinds on a fraction ``rate`` of the first ``calls`` calls."""
        rng = random.Random(seed)
        faults = {call: rng.choice(kinds) for call in range(calls) if rng.random() < rate}
        return FaultPlan(faults, late_ns)

    def next(self, seq: int) -> Fault | None:
        """The fault of this call, for item ``seq``, if it meets one; noted in ``injected``."""
        with self._lock:
            fault = self._faults.get(self._calls)
            self._calls += 1
            if fault is not None:
                self.injected.append((seq, fault))
            return fault

    def stall(self) -> None:
        """Hang until ``release``."""
        self._released.wait()

    def release(self) -> None:
        """Let all stalled calls return."""
        self._released.set()


class FailingStage(NullStage):
    """Works like a null stage, but for the faults of its plan."""

    def __init__(self, plan: FaultPlan) -> None:
        super().__init__()
        self._plan = plan
        self._never: Alarm | None = None
        self._fallback_fails = False

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        super().open(context)
        self._never = Alarm(context.clock)

    def process(self, item: Any) -> Any:
        """The item, or a fault."""
        fault = self._plan.next(item.seq)
        if fault is Fault.STALL:
            self._plan.stall()
        elif fault is Fault.LATE and self._never is not None:
            self._never.wait(self._plan.late_ns)
        elif fault is Fault.DROP:
            return Drop("injected")
        elif fault is not None:
            self._fallback_fails = fault is Fault.FALLBACK
            raise InjectedError(f"injected at item {item.seq}")
        return item

    def fallback(self, item: Any, error: BaseException | None) -> Any:
        """The item, marked as safe, or another error."""
        if error is not None and self._fallback_fails:
            raise InjectedError(f"injected in the fallback of item {item.seq}")
        return super().fallback(item, error)


class MemorySink:
    """Keeps what it is given. ``fail_at`` maps the number of a write to the error it raises."""

    def __init__(self, fail_at: Mapping[int, Exception] | None = None, duration_ns: int = 0) -> None:
        self.items: list[Any] = []
        self.events: list[Event] = []
        self.opened = 0
        self.closed = 0
        self._fail_at = dict(fail_at or {})
        self._duration_ns = duration_ns
        self._never: Alarm | None = None
        self._writes = 0

    @property
    def seqs(self) -> list[int]:
        """Sequence numbers of the items, in the order in which they came."""
        return [item.seq for item in self.items]

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        self.opened += 1
        self._never = Alarm(context.clock)

    def write(self, item: Any) -> None:
        """Keep the item, after the time that this sink takes."""
        error = self._fail_at.get(self._writes)
        self._writes += 1
        if error is not None:
            raise error
        if self._duration_ns and self._never is not None:
            self._never.wait(self._duration_ns)
        self.items.append(item)

    def handle(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def close(self) -> None:
        """Count."""
        self.closed += 1
