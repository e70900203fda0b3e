"""Counts answers of a network that are no pictures, without making the host wait for a device."""

import logging
from collections import deque

import numpy as np

from livefusion.core.by_track import MOST_TRACKS
from livefusion.core.frame import Frame
from livefusion.devices.device import Array, Device, Event, Stream

_log = logging.getLogger(__name__)

MOST_BAD = 30
"""So many bad answers in a row, and the network is asked no more."""


class Verdict:
    """What is known of the answers of the network ``name``; ``instead`` says what is shown for a bad one."""

    def __init__(self, device: Device, name: str, instead: str) -> None:
        self._device = device
        self._name = name
        self._instead = instead
        self._host = device.pinned((MOST_TRACKS, 1), np.int32)
        self._next = 0
        self._pending: deque[tuple[int, Event]] = deque()
        self._frame: tuple[str, int, int] | None = None
        self._in_a_row = 0
        self.count = 0
        """How many answers were bad, as far as that is known."""

    def note(self, bad: Array, frame: Frame, stream: Stream) -> bool:
        """Take in the verdict on the last answer, which was for a frame; True if it is known to be bad.

        Those on former frames are looked at, which are old by now; those on the same one would be waited for.
        """
        place = frame.source_id, frame.epoch, frame.seq
        if place != self._frame or len(self._pending) == len(self._host):
            self._frame = place
            self._settle()
        slot, self._next = self._next, (self._next + 1) % len(self._host)
        self._device.copy(self._host[slot], bad, stream)
        self._pending.append((slot, stream.record()))
        return self._device.shares_host_memory and self._settle()

    def given_up(self) -> bool:
        """Whether the network is asked no more."""
        return self._in_a_row >= MOST_BAD

    def _settle(self) -> bool:
        """Look at the verdicts that are under way; whether the last of them is a bad one."""
        is_bad = False
        while self._pending:
            slot, told = self._pending.popleft()
            told.synchronize()
            is_bad = bool(self._host[slot, 0])
            self._count(is_bad=is_bad)
        return is_bad

    def _count(self, *, is_bad: bool) -> None:
        self._in_a_row = self._in_a_row + 1 if is_bad else 0
        if not is_bad:
            return
        self.count += 1
        if self._in_a_row in {1, MOST_BAD}:
            after = "it is asked no more" if self.given_up() else self._instead
            _log.warning("%s gave something that is no picture; %s", self._name, after)
