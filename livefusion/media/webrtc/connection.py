"""One connection with a peer, of either direction."""

import logging
from collections.abc import Callable

from aiortc import RTCConfiguration, RTCIceServer, RTCPeerConnection, RTCSessionDescription
from aiortc.exceptions import InternalError, InvalidAccessError, InvalidStateError, OperationError
from aiortc.sdp import candidate_from_sdp

from livefusion.media.webrtc.compat import limit_candidates
from livefusion.media.webrtc.ice import ANYWHERE, Reach
from livefusion.media.webrtc.offer import MalformedOfferError, UnsupportedOfferError

_log = logging.getLogger(__name__)

_ENDED = frozenset({"failed", "closed"})
LOOPBACK = ("127.0.0.1", "::1")
GATHER_SECONDS = 1.0
"""How long servers may take to tell our own address. A peer waits for that, and most often needs it not."""


class Connection:
    """An aiortc connection whose failures are ours, and whose end is told once. Lives on the event loop."""

    def __init__(self, reach: Reach = ANYWHERE) -> None:
        self._reach = reach
        self.peer = RTCPeerConnection(RTCConfiguration(iceServers=_as_aiortc_has_them(reach)))
        self._on_end: list[Callable[[], None]] = []
        self._ended = False
        self.connected = False
        """Whether media could flow at some time."""
        self.peer.on("connectionstatechange", self._note_state)

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._ended

    def on_end(self, call: Callable[[], None]) -> None:
        """Have something called when it ends, for whatever reason."""
        self._on_end.append(call)

    async def answer(self, offer: RTCSessionDescription) -> str:
        """Take an offer; the answer as SDP, with our candidates in it.

        ``UnsupportedOfferError`` if there is no codec in common, ``MalformedOfferError`` if aiortc refuses it
        for another reason. It is closed then.
        """
        try:
            await self.peer.setRemoteDescription(offer)
            await self._describe(await self.peer.createAnswer())
        except OperationError as error:
            await self.close()
            raise UnsupportedOfferError("the offer has no codec that is spoken here: use H.264") from error
        except (InternalError, InvalidAccessError, InvalidStateError, ValueError) as error:
            await self.close()
            raise MalformedOfferError(f"the offer is refused ({error})") from error
        except Exception as error:  # border: a crafted offer makes aiortc fail in any way
            await self.close()
            raise MalformedOfferError(f"the offer is refused ({type(error).__name__})") from error
        return str(self.peer.localDescription.sdp)

    async def offer(self) -> str:
        """What we offer, as SDP, with our candidates in it."""
        await self._describe(await self.peer.createOffer())
        return str(self.peer.localDescription.sdp)

    async def _describe(self, description: RTCSessionDescription) -> None:
        """Take our description, which gathers our candidates."""
        limit_candidates(self.peer, GATHER_SECONDS, LOOPBACK if self._reach.local else None)
        await self.peer.setLocalDescription(description)

    async def accept(self, answer: str) -> None:
        """Take the answer to our offer. ``MalformedOfferError`` if aiortc refuses it; it is closed then."""
        try:
            await self.peer.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
        except Exception as error:  # border: a server may answer anything
            await self.close()
            raise MalformedOfferError(f"the answer is refused ({error})") from error

    async def add_candidate(self, line: str, mid: str) -> None:
        """Take a candidate that the peer found later: what follows ``candidate:`` in its line.

        ``MalformedOfferError`` if it is none.
        """
        try:
            candidate = candidate_from_sdp(line)
            candidate.sdpMid = mid
            await self.peer.addIceCandidate(candidate)
        except Exception as error:  # border: like that of an offer
            raise MalformedOfferError(f"a candidate cannot be read ({type(error).__name__})") from error

    async def end_candidates(self) -> None:
        """No more candidates will come."""
        await self.peer.addIceCandidate(None)

    async def close(self) -> None:
        """End it."""
        await self._release()
        self._tell_end()

    async def _note_state(self) -> None:
        state = self.peer.connectionState
        _log.debug("connection is %s", state)
        self.connected |= state == "connected"
        if state in _ENDED and not self._ended:
            self._tell_end()
            await self._release()

    async def _release(self) -> None:
        try:
            await self.peer.close()
        except Exception as error:  # border: aiortc cannot close what a crafted offer left half made
            _log.debug("a connection is closed in part: %s", error)
            await self._stop_transports()

    async def _stop_transports(self) -> None:
        for transceiver in self.peer.getTransceivers():
            transport = transceiver.receiver.transport
            if transport is not None:
                await transport.stop()
                await transport.transport.stop()

    def _tell_end(self) -> None:
        if self._ended:
            return
        self._ended = True
        for call in self._on_end:
            call()


def _as_aiortc_has_them(reach: Reach) -> list[RTCIceServer]:
    if reach.local:  # who is on this machine needs no help
        return []
    return [
        RTCIceServer(urls=one.url, username=one.user or None, credential=one.password or None)
        for one in reach.servers
    ]
