"""Sound on its way to one viewer."""

import asyncio
from collections import deque
from typing import Any

import av
from aiortc import MediaStreamTrack

from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.media.encode.opus import TIME_BASE
from livefusion.media.encode.outlet import DueSound

WAITING = 100
"""Packets that may wait: two seconds. Then the oldest are dropped."""


class SoundTrack(MediaStreamTrack):
    """Opus packets as a track, each at the time at which it is due.

    A browser puts sound and pictures together by when they were sent: so sound leaves as long after its media
    time as pictures do, and evenly, however many packets come with a picture.
    """

    kind = "audio"

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._packets: deque[DueSound] = deque(maxlen=WAITING)
        self._came = asyncio.Event()

    def put(self, due: DueSound) -> None:
        """Take a packet; on the event loop."""
        self._packets.append(due)
        self._came.set()

    async def recv(self) -> Any:
        """The next packet as ``av.Packet``, when it is due."""
        while not self._packets:
            self._came.clear()
            await self._came.wait()
        due = self._packets.popleft()
        early_ns = due.due_ns - self._clock.now_ns()
        if early_ns > 0:
            await asyncio.sleep(early_ns / NANOSECONDS)
        packet = av.Packet(due.sound.data)
        packet.pts, packet.time_base = due.sound.pts, TIME_BASE
        return packet
