"""The panic switch: one flag that every sink's pacer reads last."""

import threading
from collections.abc import Callable
from typing import Final

PANIC: Final = "panic"
"""The cause that people have; a program may have others beside it."""


class PanicSwitch:
    """While it is engaged, every sink shows the slate and nothing else.

    ``active`` is read without a lock. Switching wakes all watchers, so that the slate is out at once even if
    nothing comes from upstream any more.
    """

    def __init__(self) -> None:
        self._active = False
        self._causes: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._watchers: list[Callable[[], None]] = []

    @property
    def active(self) -> bool:
        """Whether it is engaged."""
        return self._active

    def engage(self, cause: str = PANIC) -> None:
        """Show the slate from now on, for a cause."""
        self._switch(cause, True)

    def lift(self, cause: str = PANIC) -> None:
        """Show the picture again, from the next frame on, unless there is another cause not to."""
        self._switch(cause, False)

    def engaged(self, cause: str = PANIC) -> bool:
        """Whether it is engaged for that cause."""
        return cause in self._causes

    def watch(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` after each switch, on the thread that switches."""
        with self._lock:
            self._watchers.append(wake)

    def _switch(self, cause: str, active: bool) -> None:
        with self._lock:
            self._causes = self._causes | {cause} if active else self._causes - {cause}
            self._active = bool(self._causes)
            watchers = list(self._watchers)
        for wake in watchers:
            wake()
