"""Where decoded pictures of a peer wait for the graph."""

import threading
from dataclasses import dataclass
from typing import Any

from livefusion.core.timing import NANOSECONDS, Clock, SystemClock
from livefusion.devices.select import Fallback
from livefusion.media.webrtc.decode import ON_HOST
from livefusion.media.webrtc.live_sound import LiveSound


@dataclass(frozen=True, slots=True, eq=False)
class ReceivedPicture:
    """An ``av.VideoFrame``, its RTP time at 90 kHz, and the monotonic time at which its first packet came.

    ``sender`` rises with every peer that takes over.
    """

    picture: Any
    rtp_time: int
    arrived_ns: int
    sender: int = 0


@dataclass(frozen=True, slots=True)
class SenderGone:
    """Nobody sends any more; the next picture is somebody else's."""


class Inlet:
    """One slot: the newest picture wins, and what it replaces is counted. Thread-safe.

    A graph that is slow sees fewer pictures, never older ones, and memory stays what it is.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock if clock is not None else SystemClock()
        self._changed = threading.Condition()
        self._slot: ReceivedPicture | None = None
        self._gone = 0
        """The sender whose end was not told yet."""
        self._here = False
        self._closed = False
        self._sender = 0
        self.decoding = ON_HOST
        """Where the graph wants the pictures; whoever reads them sets it."""
        self.fallbacks: tuple[Fallback, ...] = ()
        """Where decoding runs otherwise than it best would, and why; whoever decodes sets it."""
        self.sound = LiveSound()
        """What whoever sends says, beside their pictures."""
        self.received = 0
        """Pictures that came."""
        self.replaced = 0
        """Pictures that a newer one took the place of before the graph looked."""

    def enter(self) -> int:
        """A peer begins to send; its number, for ``put`` and ``leave``. The one before is heard no more."""
        with self._changed:
            if self._here:
                self._gone = self._sender
            self._sender += 1
            self._here = True
            self._slot = None
            self._changed.notify_all()
            return self._sender

    def put(self, sender: int, picture: Any, rtp_time: int, arrived_ns: int) -> None:
        """Take a picture of that peer; one of a peer that was replaced is ignored."""
        with self._changed:
            if sender != self._sender or not self._here:
                return
            self.received += 1
            self.replaced += self._slot is not None
            self._slot = ReceivedPicture(picture, rtp_time, arrived_ns, sender)
            self._changed.notify_all()

    def leave(self, sender: int) -> None:
        """That peer sends no more."""
        with self._changed:
            if sender == self._sender and self._here:
                self._here, self._gone = False, sender
                self._changed.notify_all()

    def take(self, patience: float | None = None) -> ReceivedPicture | SenderGone | None:
        """The newest picture, waiting for it; None if closed, or when ``patience`` seconds passed."""
        deadline = None if patience is None else self._clock.now_ns() + round(patience * NANOSECONDS)
        with self._changed:
            while self._slot is None and not self._gone and not self._closed:
                left = None if deadline is None else deadline - self._clock.now_ns()
                if left is not None and left <= 0:
                    return None
                self._clock.wait(self._changed, left)
            if self._closed:
                return None
            slot = self._slot
            # The last picture of who is gone comes before the word of it, that of the next one after.
            if self._gone and (slot is None or slot.sender != self._gone):
                self._gone = 0
                return SenderGone()
            self._slot = None
            return slot

    def close(self) -> None:
        """Let ``take`` return None from now on."""
        with self._changed:
            self._closed = True
            self._slot = None
            self._changed.notify_all()
