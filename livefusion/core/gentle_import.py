"""Importing a large package while pictures are live, without taking the interpreter from them."""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

_SHARE: Final = 1 / 3
"""Share of its time for which a gentle import works; it rests for the others."""
_LONGEST_REST_S: Final = 0.1


class _Pacer:
    """A finder that finds nothing: it makes its thread rest before each module, according to what it did."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._since = time.thread_time()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Rest, then leave the module to the finders that follow."""
        if threading.get_ident() == self._thread:
            worked = time.thread_time() - self._since
            time.sleep(min(worked * (1 / _SHARE - 1), _LONGEST_REST_S))
            self._since = time.thread_time()
        return None


@contextmanager
def gentle_imports() -> Iterator[None]:
    """Imports of this thread take about three times as long and leave the others most of the interpreter.

    scipy.stats, imported at full speed beside a live picture, cost it 4 to 9 of its first 60 frames.
    """
    pacer = _Pacer()
    sys.meta_path.insert(0, pacer)
    try:
        yield
    finally:
        sys.meta_path.remove(pacer)
