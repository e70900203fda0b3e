"""Reads the datagrams of a peer in bursts, as they come."""

import asyncio
from typing import Any

from livefusion.media.webrtc.names import require_names

MOST = 64
"""Datagrams that are read before others on the loop get their turn: two pictures of 720p."""

CONNECTION_NAMES = ("_protocols",)
TRANSPORT_NAMES = ("_sock", "_conn_lost")
LOOP_NAMES = ("_add_reader",)
"""What of aioice and asyncio is read or replaced here."""

_LARGEST = 1 << 16


def read_in_bursts(connection: Any) -> None:
    """Have an aioice connection, whose candidates are gathered, read all that lies there when it is woken.

    Why: asyncio reads one datagram each time round its loop, and aiortc works on it in the next. Both let the
    interpreter lock go in between, so a picture of 25 datagrams waits 25 times for its turn while others
    work; and for each, asyncio takes 256 KB that are given back at once.

    Nothing happens where the loop has no readers (Windows), and to relayed candidates.
    """
    require_names(connection, CONNECTION_NAMES)
    running = asyncio.get_running_loop()
    if not isinstance(running, asyncio.SelectorEventLoop):
        return
    loop: Any = running
    require_names(loop, LOOP_NAMES)
    for protocol in connection._protocols:
        transport = protocol.transport
        if type(transport).__module__ == "asyncio.selector_events":
            require_names(transport, TRANSPORT_NAMES)
            loop._add_reader(transport._sock.fileno(), _Reader(transport, protocol).read)


class _Reader:
    """Stands in for the reader of one asyncio datagram transport."""

    def __init__(self, transport: Any, protocol: Any) -> None:
        self._transport = transport
        self._protocol = protocol
        self._datagram = memoryview(bytearray(_LARGEST))

    def read(self) -> None:
        """Hand on what is there, at most ``MOST`` datagrams: what is left wakes the loop again."""
        transport, protocol, datagram = self._transport, self._protocol, self._datagram
        for _ in range(MOST):
            if transport._conn_lost:
                return
            try:
                size, address = transport._sock.recvfrom_into(datagram)
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # a datagram of ours was refused
                protocol.error_received(error)
            else:
                protocol.datagram_received(bytes(datagram[:size]), address)
