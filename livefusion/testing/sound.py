"""Beeps: sound whose time can be read back."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.media.encode.opus import PACKET, SAMPLE_RATE, TIME_BASE, EncodedSound

BEEP_SECONDS = 0.1
_PITCH = 1000
_LOUD = 0.1
_APART = 0.3
"""Seconds without a beep, after which the next one is another."""


class BeepEncoder:
    """Stereo silence with beeps that start at these seconds of media time, as Opus."""

    def __init__(self, beeps: Sequence[float]) -> None:
        import av

        self._beeps = beeps
        context: Any = av.CodecContext.create("libopus", "w")
        context.sample_rate, context.time_base = SAMPLE_RATE, TIME_BASE
        context.format, context.layout = "flt", "stereo"
        context.options = {"application": "lowdelay"}
        self._context = context
        self._pts = 0

    def next(self) -> EncodedSound:
        """The next 20 ms."""
        import av

        start, self._pts = self._pts, self._pts + PACKET
        seconds = (start + np.arange(PACKET)) / SAMPLE_RATE
        on = np.zeros(PACKET, bool)
        for beep in self._beeps:
            on |= (seconds >= beep) & (seconds < beep + BEEP_SECONDS)
        wave = np.where(on, 0.6 * np.sin(2 * np.pi * _PITCH * seconds), 0).astype(np.float32)
        frame: Any = av.AudioFrame.from_ndarray(np.repeat(wave, 2)[None], "flt", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = SAMPLE_RATE, start, TIME_BASE
        (packet,) = self._context.encode(frame)
        return EncodedSound(bytes(packet), start, PACKET)

    def packets(self, seconds: float) -> list[EncodedSound]:
        """All packets of the next seconds."""
        return [self.next() for _ in range(round(seconds * SAMPLE_RATE / PACKET))]


def beep_times(pieces: Iterable[tuple[float, npt.NDArray[Any]]]) -> list[float]:
    """When beeps start, in seconds, in pieces of one channel's sound at 48 kHz, each with its own start."""
    times: list[float] = []
    last = float("-inf")
    for start, samples in pieces:
        level = samples.astype(np.float32) / (np.iinfo(samples.dtype).max if samples.dtype.kind == "i" else 1)
        for index in np.flatnonzero(np.abs(level) > _LOUD):
            seconds = start + index / SAMPLE_RATE
            if seconds - last > _APART:
                times.append(float(seconds))
            last = seconds
    return times
