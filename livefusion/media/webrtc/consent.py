"""Whether a peer is still there, of those that do not answer when they are asked."""

from collections.abc import Callable
from typing import Any

from aioice.stun import TransactionError
from aiortc import RTCPeerConnection

from livefusion.media.webrtc.names import require_names

PEER_NAMES = ("_RTCPeerConnection__iceTransports",)
GATHERER_NAMES = ("_connection",)
CONNECTION_NAMES = ("_protocols",)
PROTOCOL_NAMES = ("request",)
"""What of aiortc and aioice is read or replaced here."""
_ONCE = 0
"""Consent is asked for once each time; all other requests are repeated."""


def keep_while_heard(peer: RTCPeerConnection, heard: Callable[[], bool]) -> None:
    """Let what a peer sends count as its consent (RFC 7675); after our candidates are gathered.

    Why: FFmpeg's WHIP muxer answers no request once it is connected, and aioice hangs up on it after 34
    seconds. Only for peers that send to us: ``heard`` says whether any of their packets, which are
    authenticated, came since it was asked last. Who is gone is gone after the same time as before.
    """
    require_names(peer, PEER_NAMES)
    for transport in getattr(peer, PEER_NAMES[0]):
        require_names(transport.iceGatherer, GATHERER_NAMES)
        connection = transport.iceGatherer._connection
        require_names(connection, CONNECTION_NAMES)
        for protocol in connection._protocols:
            require_names(protocol, PROTOCOL_NAMES)
            protocol.request = _lenient(protocol.request, heard)


def _lenient(ask: Any, heard: Callable[[], bool]) -> Any:
    async def request(
        message: Any, address: Any, integrity_key: Any = None, retransmissions: int | None = None
    ) -> Any:
        try:
            return await ask(message, address, integrity_key=integrity_key, retransmissions=retransmissions)
        except TransactionError:
            if retransmissions == _ONCE and heard():
                return message, address
            raise

    return request
