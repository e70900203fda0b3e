"""A flag that threads wait for on the graph's clock."""

import threading

from livefusion.core.timing import Clock


class Alarm:
    """Unset until somebody sets it; ``wait`` is also the interruptible sleep of sources and stages."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition(threading.Lock())
        self._set = False

    @property
    def is_set(self) -> bool:
        """Whether it has been set."""
        return self._set

    def set(self) -> None:
        """Set it and wake everybody who waits."""
        with self._changed:
            self._set = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Unset it."""
        with self._changed:
            self._set = False

    def wait(self, timeout_ns: int | None = None) -> bool:
        """Wait until it is set, or the time runs out; gives whether it is set."""
        deadline = None if timeout_ns is None else self._clock.now_ns() + timeout_ns
        with self._changed:
            while not self._set:
                left = None if deadline is None else deadline - self._clock.now_ns()
                if left is not None and left <= 0:
                    return False
                self._clock.wait(self._changed, left)
            return True

    def wait_until(self, instant_ns: int) -> bool:
        """Wait until it is set or the clock shows ``instant_ns``; gives whether it is set."""
        return self.wait(max(0, instant_ns - self._clock.now_ns()))
