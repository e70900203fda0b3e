"""How soon a waiting Python thread gets its turn."""

import sys
import threading
from typing import Final

_LIVE_SECONDS: Final = 1e-4


class SwitchInterval:
    """Lets threads change every 0.1 ms while a graph runs, and puts back what was there after the last one.

    At Python's default of 5 ms, one busy Python thread turned 1.2 ms of small OpenCV calls into 160 ms.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0.0

    def shorten(self) -> None:
        """Begin to use the short interval."""
        with self._lock:
            if self._users == 0:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(_LIVE_SECONDS)
            self._users += 1

    def restore(self) -> None:
        """End a use begun with ``shorten``."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setswitchinterval(self._before)


switch_interval: Final = SwitchInterval()
"""The one of this process: the interval belongs to the interpreter."""
