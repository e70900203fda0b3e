"""Importing a large package while pictures are live, in the gaps between them."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Gate:
    """A finder that finds nothing: it makes its thread wait for its turn before each module."""

    def __init__(self, wait_for_turn: Callable[[], object]) -> None:
        self._thread = threading.get_ident()
        self._wait_for_turn = wait_for_turn

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Wait, then leave the module to the finders that follow."""
        if threading.get_ident() == self._thread:
            self._wait_for_turn()
        return None


@contextmanager
def gentle_imports(wait_for_turn: Callable[[], object]) -> Iterator[None]:
    """Before each module that this thread imports in here, ``wait_for_turn`` is called.

    scipy.stats, imported at full speed beside a live picture, cost it 4 to 9 of its first 60 frames; with
    fixed rests it cost none, but lengthened the delay of all frames for eight seconds.
    """
    gate = _Gate(wait_for_turn)
    sys.meta_path.insert(0, gate)
    try:
        yield
    finally:
        sys.meta_path.remove(gate)
