"""The thread that decodes a peer's pictures, fed from the event loop."""

import logging
import queue
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import av
from av.codec.context import Flags
from av.error import FFmpegError

from livefusion.media.webrtc.assemble import CodedPicture

_log = logging.getLogger(__name__)

WAITING = 15
"""Coded pictures that may wait for the decoder: half a second. Then all are dropped up to a key frame."""

_TIME_BASE = Fraction(1, 90_000)


class DecoderFeed:
    """Stands in for the queue between an aiortc receiver and its decoder thread.

    That thread calls ``get``, and stays in it until the end: decoded pictures go to ``deliver`` without a way
    through the event loop. A picture that cannot be decoded, and one that finds the queue full, is
    ``damage``: the next key frame has to be asked for, and nothing decoded until then.
    """

    def __init__(self, deliver: Callable[[Any, CodedPicture], None], damage: Callable[[], None]) -> None:
        self._deliver = deliver
        self._damage = damage
        self._waiting: queue.Queue[CodedPicture | None] = queue.Queue()
        self._context: Any = None
        self.dropped = 0
        """Coded pictures that were not decoded because the decoder was too slow."""

    def put(self, task: Any) -> None:
        """Take what the receiver gives: a codec and what one packet completed, or None at the end."""
        if task is None:
            self._waiting.put(None)
            return
        pictures: list[CodedPicture] = task[1].pictures
        if self._waiting.qsize() + len(pictures) > WAITING:
            self._drop(len(pictures))
            return
        for picture in pictures:
            self._waiting.put(picture)

    def get(self) -> None:
        """Decode until the end comes."""
        while (coded := self._waiting.get()) is not None:
            for picture in self._decode(coded):
                self._deliver(picture, coded)

    def _decode(self, coded: CodedPicture) -> list[Any]:
        if self._context is None:
            self._context = _create_context()
        packet = av.Packet(coded.data)
        packet.pts, packet.time_base = coded.rtp_time, _TIME_BASE
        try:
            pictures: list[Any] = self._context.decode(packet)
        except FFmpegError as error:
            _log.debug("a picture of the peer is damaged: %s", error)
            self._damage()
            return []
        return pictures

    def _drop(self, pictures: int) -> None:
        self.dropped += pictures
        try:
            while True:
                last = self._waiting.get_nowait()
                if last is None:
                    self._waiting.put(None)
                    break
                self.dropped += 1
        except queue.Empty:
            pass
        self._damage()


def _create_context() -> Any:
    context = av.CodecContext.create("h264", "r")
    # One thread: several decode slices at once, and a live peer sends one slice a picture.
    context.thread_count = 1
    context.flags |= Flags.low_delay
    return context
