"""Replaces workers that hang."""

import logging
import threading
from collections.abc import Sequence

from livefusion.core.timing import Clock
from livefusion.runtime.worker import Worker

_log = logging.getLogger(__name__)


class Watchdog:
    """One thread that sleeps until the earliest instant at which a worker could count as hung.

    Workers need not tell it anything: one that is idle now cannot be hung before its limit has passed.
    """

    def __init__(self, clock: Clock, workers: Sequence[Worker]) -> None:
        self._clock = clock
        self._workers = tuple(workers)
        self._changed = threading.Condition(threading.Lock())
        self._stopped = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it, if it was started at all."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        while True:
            expiry_ns = min(worker.expiry_ns() for worker in self._workers)
            with self._changed:
                while not self._stopped and (left_ns := expiry_ns - self._clock.now_ns()) > 0:
                    self._clock.wait(self._changed, left_ns)
                if self._stopped:
                    return
            for worker in self._workers:
                worker.replace_if_hung()
