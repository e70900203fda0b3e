"""A small server of RTSP (RFC 2326) that sends one H.264 picture after the other by RTP on the connection."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

import av

from livefusion.core.geometry import Size
from livefusion.testing.media import pattern_picture

FPS: Final = 20
Draw = Callable[[Size, int], Any]
"""Makes the picture (``av.VideoFrame``) of a number, just before it is sent."""
_PAYLOAD_TYPE, _CLOCK, _SSRC = 96, 90_000, 7
_SDP = (
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=test\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\n"
    "a=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:track0\r\n"
)


class RtspServer:
    """Serves any path to any number of viewers, ``fps`` pictures a second of ``size``; a context manager.

    ``visits`` counts those that began to play. ``port`` 0 is any that is free.
    """

    def __init__(self, size: Size, *, port: int = 0, fps: int = FPS, draw: Draw = pattern_picture) -> None:
        self.visits = 0
        self._size = size
        self._fps = fps
        self._draw = draw
        self._door = socket.create_server(("127.0.0.1", port))
        self._visitors: list[socket.socket] = []
        self._stopped = threading.Event()

    @property
    def port(self) -> int:
        """Where it answers."""
        return int(self._door.getsockname()[1])

    def __enter__(self) -> "RtspServer":
        threading.Thread(target=self._serve, name="rtsp server", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.hang_up()

    def hang_up(self) -> None:
        """End all connections; new ones are answered."""
        while self._visitors:
            with suppress(OSError):
                self._visitors.pop().shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        with suppress(OSError):  # the door is shut
            while True:
                visitor, _ = self._door.accept()
                visitor.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._visitors.append(visitor)
                threading.Thread(target=self._answer, args=(visitor,), daemon=True).start()

    def _answer(self, visitor: socket.socket) -> None:
        with suppress(OSError), visitor, visitor.makefile("rb") as requests:
            method, number = "", "0"
            for line in requests:
                text = line.decode("latin-1").strip()
                method = method or text.split(" ")[0]
                if text.lower().startswith("cseq:"):
                    number = text.split(":")[1].strip()
                if not text and method:
                    visitor.sendall(_reply(method, number))
                    if method == "PLAY":
                        self.visits += 1
                        threading.Thread(target=self._play, args=(visitor,), daemon=True).start()
                    method = ""

    def _play(self, visitor: socket.socket) -> None:
        from aiortc.codecs.h264 import H264Encoder
        from aiortc.rtp import RtpPacket

        packer, encoder = H264Encoder(), _encoder(self._size, self._fps)
        sequence, began = 0, time.monotonic()
        with suppress(OSError):  # the viewer went
            for index in range(1 << 20):
                if self._stopped.wait(timeout=max(0.0, began + index / self._fps - time.monotonic())):
                    return
                picture = self._draw(self._size, index)
                picture.pts = index
                for packet in encoder.encode(picture):
                    payloads, _ = packer.pack(packet)
                    for at, payload in enumerate(payloads):
                        part = RtpPacket(_PAYLOAD_TYPE, at + 1 == len(payloads), sequence, 0, _SSRC, payload)
                        part.timestamp = index * _CLOCK // self._fps
                        data = part.serialize()
                        visitor.sendall(b"$\0" + struct.pack(">H", len(data)) + data)
                        sequence = sequence + 1 & 0xFFFF


def _reply(method: str, number: str) -> bytes:
    head = {
        "OPTIONS": "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\n",
        "DESCRIBE": f"Content-Type: application/sdp\r\nContent-Length: {len(_SDP)}\r\n",
        "SETUP": "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n",
    }.get(method, "Session: 1\r\n")
    body = _SDP if method == "DESCRIBE" else ""
    return f"RTSP/1.0 200 OK\r\nCSeq: {number}\r\n{head}\r\n{body}".encode()


def _encoder(size: Size, fps: int) -> Any:
    context: Any = av.CodecContext.create("libx264", "w")
    context.width, context.height, context.pix_fmt = size.width, size.height, "yuv420p"
    context.time_base = Fraction(1, fps)
    context.options = {"preset": "ultrafast", "tune": "zerolatency", "g": str(fps)}
    return context
