"""Streams and events of the simulated device: queues of operations that have not run yet."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livefusion.core.errors import DeviceError
from livefusion.devices.device import Event
from livefusion.testing.races import Clock

if TYPE_CHECKING:
    from livefusion.testing.simdevice import SimDevice


@dataclass(frozen=True, slots=True)
class SimEvent:
    """A point in a stream, as the clock of all that lies before it."""

    device: "SimDevice"
    clock: Clock

    def synchronize(self) -> None:
        """Run what lies before the event, and by chance some of what need not have waited."""
        self.device.host_waits(self.clock)


@dataclass(frozen=True, slots=True)
class Operation:
    """Work on a stream, and the clock of all that must be over before it, itself counted."""

    work: Callable[[], None]
    clock: Clock


class SimStream:
    """A queue of operations that have not run yet."""

    def __init__(self, device: "SimDevice", index: int, name: str) -> None:
        self._device = device
        self._name = name
        self.index = index
        self.clock: Clock = {}
        self.queue: deque[Operation] = deque()
        self.done = 0

    @property
    def name(self) -> str:
        """Name of the stream."""
        return self._name

    @property
    def handle(self) -> int:
        """A number by which ``SimDevice.stream_of`` finds the stream again, as a foreign library would."""
        return self.index + 1

    def record(self) -> Event:
        """An event behind everything put on this stream so far."""
        with self._device.lock:
            return SimEvent(self._device, dict(self.clock))

    def wait(self, event: Event | None) -> None:
        """What is put on this stream from now on runs after ``event``."""
        if event is None:
            return
        if not isinstance(event, SimEvent) or event.device is not self._device:
            raise DeviceError(
                f"stream {self._name} waits for an event of another device", "copy through the host"
            )
        self._device.wait(self, event)

    def synchronize(self) -> None:
        """Run everything that is on this stream."""
        self.record().synchronize()
