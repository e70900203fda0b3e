"""Takes a peer's sound as it comes: what orders it is its media time, so nothing waits here."""

import queue
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class CodedSound:
    """A packet's contents and its RTP time. aiortc sets ``timestamp`` anew."""

    data: bytes
    rtp_time: int
    timestamp: int = 0


class SoundPackets:
    """Stands in for aiortc's ``JitterBuffer``, which holds sound back for 80 ms."""

    def add(self, packet: Any) -> tuple[bool, CodedSound | None]:
        """Take a depayloaded packet and pass it on."""
        return False, CodedSound(packet._data, packet.timestamp) if packet._data else None


class SoundFeed:
    """Stands in for the queue before the decoder of an aiortc receiver: packets go to ``deliver`` undecoded.

    ``deliver`` is called on the event loop. What is not Opus is left aside.
    """

    def __init__(self, deliver: Callable[[bytes, int], None]) -> None:
        self._deliver = deliver
        self._queue: queue.Queue[None] = queue.Queue()

    def put(self, task: Any) -> None:
        """Take what the receiver gives: a codec and a packet, or None at the end."""
        if task is None:
            self._queue.put(None)
            return
        codec, sound = task
        if codec.mimeType.lower() == "audio/opus":
            self._deliver(sound.data, sound.rtp_time)

    def get(self) -> None:
        """For the decoder's thread, which only waits for the end."""
        self._queue.get()
