"""Somebody who watches by WHEP and takes every picture as it comes, decoded by whoever wants it decoded."""

import queue
import threading
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


class BeaconViewer:
    """Sees flashes and hears beeps of ``testing.beacon``, and puts them together by the sender's clocks."""

    def __init__(self) -> None:
        import av

        self.received = Received(self._see, self._hear)
        self._pictures: Any = av.CodecContext.create("h264", "r")
        self._sounds: Any = av.CodecContext.create("opus", "r")
        self._flashes: list[int] = []
        self._pieces: list[tuple[int, Any]] = []
        self._lit = True

    def skews(self) -> list[float]:
        """How many seconds each beep comes after its flash; nothing where the sender told no clock."""
        from livefusion.testing.sound import beep_times

        lips = self.received.lips
        if not (self._pieces and lips.video.is_reported and lips.sound.is_reported):
            return []
        origin = self._pieces[0][0]
        beeps = beep_times(((stamp - origin) % 2**32 / 48_000, samples) for stamp, samples in self._pieces)
        heard = [lips.sound.by_report((origin + round(beep * 48_000)) % 2**32) for beep in beeps]
        seen = [lips.video.by_report(flash) for flash in self._flashes]
        nearest = [min((beep - flash for beep in heard), key=abs, default=1.0) for flash in seen]
        return [one for one in nearest if abs(one) < 0.5]

    def _see(self, stamp: int, data: bytes) -> None:
        import av
        from av.error import FFmpegError

        try:
            pictures = self._pictures.decode(av.Packet(data))
        except FFmpegError:
            return  # it began before a key frame
        for picture in pictures:
            lit = bool(picture.to_ndarray(format="gray").mean() > 120)
            if lit and not self._lit:
                self._flashes.append(stamp)
            self._lit = lit

    def _hear(self, stamp: int, data: bytes) -> None:
        import av

        for frame in self._sounds.decode(av.Packet(data)):
            samples = frame.to_ndarray()[0]
            if abs(samples).max() > 0.02:  # silence, most of ten minutes, is not kept
                self._pieces.append((stamp, samples))


class Watch:
    """A viewer by WHEP, from when the server is there until ``end``; ``run`` is for a thread of its own."""

    def __init__(self, url: str, token: str, received: Received) -> None:
        self._place = url, token, received
        self._ended = threading.Event()

    def run(self) -> None:
        """Watch; nothing comes if the server never does."""
        while not self._ended.is_set():
            try:
                with WhepViewer(*self._place):
                    self._ended.wait()
            except OSError:  # the server is not there yet, or gone already
                self._ended.wait(timeout=0.1)

    def end(self) -> None:
        """Watch no more."""
        self._ended.set()
