"""The way from the thread of a sink to the event loop of a peer."""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

WAITING = 64
"""Items that may wait for the loop, pictures and sound together: the better part of a second."""


class Handover(Generic[T]):
    """Passes items on in order; a loop that is busy for too long loses all that wait, and memory stays small.

    ``take`` and ``lose`` are called on the loop, ``put`` from any thread.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, take: Callable[[T], None], lose: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._take = take
        self._lose = lose
        self._lock = threading.Lock()
        self._items: list[T] = []
        self._lost = False
        self._called = False

    def put(self, item: T) -> None:
        """Take an item; nothing if the loop has ended."""
        with self._lock:
            if len(self._items) >= WAITING:
                self._items.clear()
                self._lost = True
            self._items.append(item)
            if self._called or self._loop.is_closed():
                return
            self._called = True
        self._loop.call_soon_threadsafe(self._run)

    def _run(self) -> None:
        with self._lock:
            items, self._items = self._items, []
            lost, self._lost, self._called = self._lost, False, False
        if lost:
            self._lose()
        for item in items:
            self._take(item)
