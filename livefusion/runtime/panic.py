"""The panic switch: one flag that every sink's pacer reads last."""

import threading
from collections.abc import Callable


class PanicSwitch:
    """While it is engaged, every sink shows the slate and nothing else.

    ``active`` is read without a lock. Switching wakes all watchers, so that the slate is out at once even if
    nothing comes from upstream any more.
    """

    def __init__(self) -> None:
        self._active = False
        self._lock = threading.Lock()
        self._watchers: list[Callable[[], None]] = []

    @property
    def active(self) -> bool:
        """Whether it is engaged."""
        return self._active

    def engage(self) -> None:
        """Show the slate from now on."""
        self._switch(True)

    def lift(self) -> None:
        """Show the picture again, from the next frame on."""
        self._switch(False)

    def watch(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` after each switch, on the thread that switches."""
        with self._lock:
            self._watchers.append(wake)

    def _switch(self, active: bool) -> None:
        self._active = active
        with self._lock:
            watchers = list(self._watchers)
        for wake in watchers:
            wake()
