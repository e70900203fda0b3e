"""Somebody who watches by WHEP and takes every picture as it comes, decoded by whoever wants it decoded."""

import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.request import Request, urlopen

from livefusion.media.webrtc.lipsync import LipSync
from livefusion.media.webrtc.loop import LoopThread

_HTTP_SECONDS, _CONNECT_SECONDS = 8.0, 15.0


@dataclass(slots=True)
class Received:
    """What came: the RTP time and the H.264 of a picture, or the RTP time and the Opus of sound."""

    on_picture: Callable[[int, bytes], None]
    on_sound: Callable[[int, bytes], None] = lambda stamp, data: None
    lips: LipSync = field(default_factory=LipSync)
    """The sender's clocks, to put sound and pictures together as a browser does."""


class WhepViewer:
    """Connected inside its block, on a thread of its own, which is the one that ``received`` is told on.

    There is no repair of what the network loses: this is for a loopback.
    """

    def __init__(self, url: str, token: str, received: Received) -> None:
        self._url = url
        self._token = token
        self._received = received
        self._thread = LoopThread("whep")
        self._peer: Any = None
        self._sound_type = -1
        self._parts: list[bytes] = []

    def __enter__(self) -> "WhepViewer":
        self._thread.start()
        try:
            self._thread.call(self._connect(), _CONNECT_SECONDS)
        except BaseException:
            self._thread.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._thread.call(self._peer.close(), _CONNECT_SECONDS)
        finally:
            self._thread.stop()

    async def _connect(self) -> None:
        from aiortc import RTCPeerConnection, RTCSessionDescription

        from livefusion.media.webrtc.compat import ReceiverHooks

        self._peer = RTCPeerConnection()
        lips = self._received.lips
        for kind, clock in (("video", lips.video), ("audio", lips.sound)):
            receiver = self._peer.addTransceiver(kind, direction="recvonly").receiver
            hooks = ReceiverHooks(receiver)
            hooks.watch_clock(clock.note_report)
            hooks.replace(self, _NeverDecoded())
        await self._peer.setLocalDescription(await self._peer.createOffer())
        answer = self._post(self._peer.localDescription.sdp)
        sound = answer.split(" opus/48000/2")[0].rsplit("a=rtpmap:", 1)
        self._sound_type = int(sound[1]) if len(sound) == 2 else -1
        await self._peer.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    def _post(self, offer: str) -> str:
        head = {"Content-Type": "application/sdp", "Authorization": f"Bearer {self._token}"}
        with urlopen(Request(self._url, offer.encode(), head), timeout=_HTTP_SECONDS) as reply:
            return str(reply.read().decode())

    def add(self, packet: Any) -> tuple[bool, None]:
        """Take an RTP packet in place of aiortc's jitter buffer, for either kind."""
        if not packet._data:
            return False, None
        if packet.payload_type == self._sound_type:
            self._received.on_sound(packet.timestamp, packet._data)
            return False, None
        self._parts.append(packet._data)
        if packet.marker:
            data, self._parts = b"".join(self._parts), []
            self._received.on_picture(packet.timestamp, data)
        return False, None


class _NeverDecoded:
    """In place of the decoder's queue: nothing comes but the end."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue()
        self.put, self.get = self._queue.put, self._queue.get
