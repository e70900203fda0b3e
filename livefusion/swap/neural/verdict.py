"""Counts answers of a network that are no pictures, without making the host wait for a device."""

import logging

import numpy as np

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
        self._host = device.pinned((1,), np.int32)
        self._host[0] = 0
        self._pending: Event | None = None
        self._in_a_row = 0
        self.count = 0
        """How many answers were bad, as far as that is known."""

    def note(self, bad: Array, stream: Stream) -> bool:
        """Take in the verdict on the last answer; True if it is known now that it was bad."""
        self._settle()
        self._device.copy(self._host, bad, stream)
        self._pending = stream.record()
        if not self._device.shares_host_memory:
            return False
        return self._settle()

    def given_up(self) -> bool:
        """Whether the network is asked no more."""
        return self._in_a_row >= MOST_BAD

    def _settle(self) -> bool:
        """Look at the verdict before this one, which is an old one by now."""
        if self._pending is None:
            return False
        self._pending.synchronize()
        self._pending = None
        is_bad = bool(self._host[0])
        self._in_a_row = self._in_a_row + 1 if is_bad else 0
        if is_bad:
            self.count += 1
            if self._in_a_row in {1, MOST_BAD}:
                after = "it is asked no more" if self.given_up() else self._instead
                _log.warning("%s gave something that is no picture; %s", self._name, after)
        return is_bad
