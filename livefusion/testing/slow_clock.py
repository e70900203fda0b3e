"""A clock for slow devices: its time passes at a fraction of the real one."""

import threading
import time

from livefusion.core.timing import NANOSECONDS


class SlowClock:
    """Implements ``core.timing.Clock``; one second on it takes ``factor`` real ones.

    What waits for at most some milliseconds then waits for as long as a simulated device may need, and the
    result does not depend on the machine.
    """

    def __init__(self, factor: int = 1000) -> None:
        self._factor = factor

    def now_ns(self) -> int:
        """Slow time."""
        return time.monotonic_ns() // self._factor

    def wait(self, condition: threading.Condition, timeout_ns: int | None) -> bool:
        """Wait on a condition that the caller holds; False when the slow time ran out first."""
        if timeout_ns is None:
            return condition.wait()
        return condition.wait(max(0, timeout_ns) * self._factor / NANOSECONDS)
