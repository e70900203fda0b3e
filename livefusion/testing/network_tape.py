"""What networks gave for one clip, to be given again without them."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.devices.device import Array, Device, Stream


class NetworkTape:
    """Results by the name of the network, in the order of its runs. One thread a network.

    ``foreign_ns`` is the time of the processor that each thread has spent on playing: none of the product's.
    """

    def __init__(self) -> None:
        self._takes: defaultdict[str, list[list[npt.NDArray[Any]]]] = defaultdict(list)
        self._next: defaultdict[str, int] = defaultdict(int)
        self.foreign_ns: defaultdict[int, int] = defaultdict(int)

    def record(self, name: str, writes: tuple[Array, ...]) -> None:
        """Keep the results of one run."""
        self._takes[name].append([np.array(array) for array in writes])

    def rewind(self) -> None:
        """Play from the beginning."""
        self._next.clear()

    def play(self, name: str, writes: tuple[Array, ...]) -> None:
        """Give the results of the next run; work that was not recorded, such as a turn, is left out.

        The last results are given again when the tape is over.
        """
        since = time.thread_time_ns()
        self._play(name, writes)
        self.foreign_ns[threading.get_ident()] += time.thread_time_ns() - since

    def _play(self, name: str, writes: tuple[Array, ...]) -> None:
        takes = self._takes.get(name)
        if not takes:
            return
        number = self._next[name]
        self._next[name] = number + 1
        for array, take in zip(writes, takes[min(number, len(takes) - 1)], strict=True):
            np.copyto(array, take)


class TapingDevice:
    """Passes everything on to a device that runs work at once, and records what its networks give."""

    def __init__(self, device: Device, tape: NetworkTape) -> None:
        self._device = device
        self._tape = tape

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run the work, keep its results if it is a network's."""
        self._device.run(work, stream, reads=reads, writes=writes, name=name)
        if reads and name != "turn":
            self._tape.record(name, writes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)
