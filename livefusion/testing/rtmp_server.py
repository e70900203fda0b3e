"""A server of RTMP that notes when pictures come, and that can stop taking them."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import av

from livefusion.core.errors import InputError
from livefusion.media.network.address import parse_stream
from livefusion.media.network.connection import Connection
from livefusion.media.network.line import DoorLine


@dataclass(slots=True)
class Visits:
    """When pictures came, monotonic, over all connections, and by what each of them is known again."""

    arrivals: list[tuple[int, bytes]] = field(default_factory=list)
    """Nanoseconds and ``tail_of`` the picture."""
    connections: int = 0
    hung_ns: tuple[int, int] | None = None
    """From when to when nothing was taken."""


def tail_of(picture: bytes) -> bytes:
    """The end of a picture's H.264, the same in every container: pictures encoded once are known by it."""
    return picture[-32:]


def tails_in(recording: Path) -> list[bytes]:
    """``tail_of`` each picture of a file."""
    with av.open(str(recording)) as container:
        return [tail_of(bytes(packet)) for packet in container.demux(video=0) if packet.size]


class RtmpServer:
    """Takes what is published at ``url``, one publisher after the other; a context manager.

    ``hang_after`` seconds after its first picture it takes nothing for ``hang_seconds``.
    """

    def __init__(self, url: str, *, hang_after: float = 0.0, hang_seconds: float = 0.0) -> None:
        address = parse_stream(f"{url}?listen=1", InputError)
        self.visits = Visits()
        self._hang_after_ns = round(hang_after * 1e9)
        self._hang_seconds = hang_seconds
        self._line = DoorLine(address)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rtmp server", daemon=True)

    def __enter__(self) -> "RtmpServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._line.close()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                connection = self._line.connect()
            except InputError:
                continue  # the publisher went before its first picture
            if connection is None:
                return
            try:
                self._take(connection)
            except InputError:
                pass  # the publisher is gone; the next one may come
            finally:
                connection.close()
                self._line.hang_up()

    def _take(self, connection: Connection) -> None:
        self.visits.connections += 1
        for packet in connection.packets():
            if packet.stream is not connection.video:
                continue
            now_ns = time.monotonic_ns()
            self.visits.arrivals.append((now_ns, tail_of(bytes(packet))))
            self._hang(now_ns)

    def _hang(self, now_ns: int) -> None:
        began_ns = self.visits.arrivals[0][0] + self._hang_after_ns
        if self._hang_seconds <= 0 or self.visits.hung_ns is not None or now_ns < began_ns:
            return
        self._stopped.wait(timeout=self._hang_seconds)
        self.visits.hung_ns = now_ns, time.monotonic_ns()
