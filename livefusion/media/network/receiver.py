"""The thread that waits for the network, so that nobody else does."""

import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from livefusion.core.errors import InputError, LiveFusionError
from livefusion.core.timing import NANOSECONDS, Clock, ticks_to_ns
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.connection import Connection
from livefusion.media.network.line import Line, open_line
from livefusion.media.network.sound_decoder import SoundDecoder
from livefusion.media.network.sound_ring import SoundRing
from livefusion.media.network.stream_clock import StreamClock
from livefusion.runtime.backoff import FailureLog, RestartPolicy

_log = logging.getLogger(__name__)

# Somebody watches: a server that is back shall be seen within two seconds, of which opening takes one.
_RETRIES = RestartPolicy(longest_ns=NANOSECONDS)
# Whoever publishes to us again is at the door already, and waiting for the next one costs nothing.
_AT_THE_DOOR = RestartPolicy(longest_ns=NANOSECONDS // 10)
_MOST_WAITING = 250


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A packet of pictures, when it came, and its media time."""

    connection: Connection
    packet: Any
    arrived_ns: int
    media_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Gone:
    """The connection is over, or there was none; it is tried again. Who takes it closes it."""

    connection: Connection | None
    error: LiveFusionError


@dataclass(frozen=True, slots=True)
class Stalled:
    """Nothing came for a while."""


class Receiver:
    """Connects, receives, and connects again with back-off, until it is stopped.

    Pictures wait in a queue for their decoder. If that cannot keep up they are dropped up to the next key
    frame: what builds on a lost picture could not be decoded. Sound is decoded here, into ``sound``.
    """

    def __init__(self, address: StreamAddress, clock: Clock) -> None:
        self.sound = SoundRing()
        self.has_sound = False
        self.dropped = 0
        self._clock = clock
        self._line: Line = open_line(address)
        self._changed = threading.Condition()
        self._queue: deque[Arrival | Gone] = deque()
        self._wants_key = True
        self._stopped = False
        self._media = StreamClock()
        self._failures = FailureLog(_AT_THE_DOOR if address.listens else _RETRIES)
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many packets wait for their decoder."""
        return len(self._queue)

    def media_now(self) -> int:
        """Nanoseconds of media time of a picture that were captured now."""
        return self._media.now(self._clock.now_ns())

    def take(self, patience_ns: int | None) -> Arrival | Gone | Stalled | None:
        """What came next, waiting for it as long as ``patience_ns``; None once stopped."""
        deadline = None if patience_ns is None else self._clock.now_ns() + patience_ns
        with self._changed:
            while not self._queue and not self._stopped:
                left = None if deadline is None else deadline - self._clock.now_ns()
                if left is not None and left <= 0:
                    return Stalled()
                self._clock.wait(self._changed, left)
            return None if self._stopped else self._queue.popleft()

    def stop(self) -> None:
        """Have ``take`` return, and the connection closed as soon as FFmpeg answers."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._line.close()

    def _run(self) -> None:
        connection: Connection | None = None
        try:
            while not self._stopped:
                connection, error = None, None
                try:
                    connection = self._line.connect()
                    if connection is None:
                        return
                    self._receive(connection)
                except LiveFusionError as problem:
                    error = problem
                except Exception as problem:  # border: whatever FFmpeg does ends the connection only
                    error = InputError(f"the stream failed ({problem})", "check the sender")
                    error.__cause__ = problem
                self._media.pause()
                self._line.hang_up()
                if error is not None and not self._stopped:
                    self._put(Gone(connection, error))
                    connection = None
                    self._rest()
        finally:
            if connection is not None:
                connection.close()
            self._line.close()

    def _receive(self, connection: Connection) -> None:
        self._wants_key = True
        self.has_sound = self.has_sound or connection.audio is not None
        decoder = SoundDecoder(self.sound, self._media)
        base = connection.video.time_base
        for packet in connection.packets():
            if self._stopped:
                return
            if packet.stream is not connection.video:
                decoder.feed(packet)
                continue
            stamp = packet.pts if packet.pts is not None else packet.dts
            if stamp is None or not self._is_wanted(packet):
                continue
            arrived_ns = self._clock.now_ns()
            media_ns = self._media.picture(ticks_to_ns(stamp, base), arrived_ns)
            self._put(Arrival(connection, packet, arrived_ns, media_ns))

    def _is_wanted(self, packet: Any) -> bool:
        if self._wants_key and not packet.is_keyframe:
            return False
        self._wants_key = False
        if len(self._queue) < _MOST_WAITING:
            return True
        with self._changed:
            self.dropped += len(self._queue)
            self._queue = deque(one for one in self._queue if isinstance(one, Gone))
        _log.warning("pictures come faster than they can be decoded; some are dropped")
        self._wants_key = not packet.is_keyframe
        return bool(packet.is_keyframe)

    def _put(self, entry: Arrival | Gone) -> None:
        with self._changed:
            self._queue.append(entry)
            self._changed.notify_all()

    def _rest(self) -> None:
        """Wait before the next try; a publisher that we wait for needs no pause."""
        retry_ns = self._failures.failed(self._clock.now_ns())
        with self._changed:
            while not self._stopped and (left := retry_ns - self._clock.now_ns()) > 0:
                self._clock.wait(self._changed, left)
