"""What stands between a socket and the HTTP server: nobody can hold the door by saying nothing."""

import asyncio
from collections.abc import Callable

from livefusion.server.limits import Limits

_HEAD_END = b"\r\n\r\n"


class Gates:
    """All connections of a door; call it for the protocol of a new one. Lives on the event loop.

    aiohttp bounds neither how many there are nor how long a request may take to begin: a thousand sockets
    that send a byte a minute would be a thousand sockets for an hour. Here the oldest that has not asked for
    anything yet makes room for a new one, and after it the one that is silent for longest.
    """

    def __init__(self, make: Callable[[], asyncio.Protocol], limits: Limits) -> None:
        self._make = make
        self._limits = limits
        self._open: dict[Gate, None] = {}  # in the order of what was last heard
        self.turned_out = 0
        """Connections that had to make room."""

    def __call__(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        return Gate(self._make(), self._limits.head_seconds, self)

    def enter(self, gate: "Gate") -> None:
        """A connection came about."""
        if len(self._open) >= self._limits.connections:
            self.turned_out += 1
            next((one for one in self._open if not one.has_asked), next(iter(self._open))).shut()
        self._open[gate] = None

    def heard(self, gate: "Gate") -> None:
        """Something came from it."""
        if gate in self._open:
            self._open[gate] = self._open.pop(gate)

    def leave(self, gate: "Gate") -> None:
        """It is over."""
        self._open.pop(gate, None)


class Gate(asyncio.Protocol):
    """One connection: closed if its first request does not begin in time, else all goes to ``inner``."""

    def __init__(self, inner: asyncio.Protocol, head_seconds: float, gates: Gates) -> None:
        self._inner = inner
        self._seconds = head_seconds
        self._gates = gates
        self._transport: asyncio.BaseTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tail = b""

    @property
    def has_asked(self) -> bool:
        """Whether a request has come from it."""
        return self._timer is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self.shut)
        self._gates.enter(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass on what came."""
        if self._timer is not None:
            seen = self._tail + data
            self._tail = seen[-len(_HEAD_END) :]
            if _HEAD_END in seen:
                self._stop_timer()
                self._gates.heard(self)
        else:
            self._gates.heard(self)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass on that nothing more comes."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass on that it reads slowly."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that it reads again."""
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self._stop_timer()
        self._gates.leave(self)
        self._inner.connection_lost(error)

    def shut(self) -> None:
        """Close it, whatever was still to be sent."""
        self._stop_timer()
        self._gates.leave(self)
        if isinstance(self._transport, asyncio.Transport):
            self._transport.abort()

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
