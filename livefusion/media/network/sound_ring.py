"""The last seconds of a live input's sound, by media time."""

import io
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt

RATE: Final = 48_000
CHANNELS: Final = 2
BLOCK: Final = 1024
"""Samples that are given out at once: a packet of AAC."""
_SECONDS = 10
# MPEG-TS packs sound until 2930 bytes are full: half a second of quiet sound comes at once, and late.
_SILENT_AFTER = RATE
# What the times of packets may differ from the count of their samples: FLV rounds them to milliseconds.
_JITTER = RATE // 50

Samples = npt.NDArray[np.float32]


class SoundRing:
    """Stereo samples of 48 kHz by their position since the first picture; what never came is silence.

    Written by the thread that receives, read by every sink with a reader of its own. Thread-safe.
    """

    def __init__(self) -> None:
        self._samples = np.zeros((CHANNELS, _SECONDS * RATE), np.float32)
        self._lock = threading.Lock()
        self._end = 0

    @property
    def end(self) -> int:
        """The position behind the newest sample."""
        return self._end

    def write(self, position: int, samples: Samples) -> None:
        """Put samples (2, n) where their time says, or behind the last ones if that is about the same."""
        with self._lock:
            if abs(position - self._end) <= _JITTER:
                position = self._end
            skipped = max(0, self._end - position)
            position, samples = position + skipped, samples[:, skipped:]
            if samples.shape[1] == 0:
                return
            self._fill(self._end, min(position - self._end, self._samples.shape[1]), None)
            self._fill(position, samples.shape[1], samples)
            self._end = position + samples.shape[1]

    def read(self, position: int, count: int) -> Samples:
        """A copy (2, ``count``) of the samples from a position on; silence where there are none."""
        size = self._samples.shape[1]
        with self._lock:
            first, last = max(position, self._end - size, 0), min(position + count, self._end)
            taken = np.zeros((CHANNELS, count), np.float32)
            if first < last:
                places = np.arange(first, last) % size
                taken[:, first - position : last - position] = self._samples[:, places]
        return taken

    def open(self) -> "SoundReader":
        """A new reader, from what is there on."""
        return SoundReader(self, max(0, self._end - _SECONDS * RATE // 2))

    def _fill(self, position: int, count: int, samples: Samples | None) -> None:
        places = np.arange(position, position + count) % self._samples.shape[1]
        self._samples[:, places] = 0 if samples is None else samples


class SoundReader:
    """Reads sound up to a moment of media time, in blocks without a gap, as packets of PCM."""

    def __init__(self, ring: SoundRing, position: int) -> None:
        self._ring = ring
        self._position = position
        self._container = _container()

    @property
    def stream(self) -> Any:
        """An ``av.AudioStream`` that can decode the packets: 48 kHz, stereo, 32-bit floats."""
        return self._container.streams.audio[0]

    def until(self, seconds: float) -> Iterator[Any]:
        """The ``av.Packet`` that start before ``seconds`` of media time and were not given yet.

        Sound that is late is waited for until a second behind ``seconds``; then it is silence.
        """
        wanted = round(seconds * RATE)
        ready = min(wanted, max(self._ring.end - BLOCK + 1, wanted - _SILENT_AFTER))
        if ready - self._position > _SECONDS * RATE:  # nobody has read for longer than is kept
            self._position = ready - _SECONDS * RATE // 2
        while self._position < ready:
            packet = av.Packet(self._ring.read(self._position, BLOCK).T.tobytes())
            packet.stream, packet.time_base = self.stream, Fraction(1, RATE)
            packet.pts = packet.dts = self._position
            packet.duration = BLOCK
            self._position += BLOCK
            yield packet

    def close(self) -> None:
        """Let go of the decoder."""
        self._container.close()


def _container() -> Any:
    """A file in memory with a PCM stream: only a stream of a file can decode."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream: Any = container.add_stream("pcm_f32le", rate=RATE, layout="stereo")
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 2 * BLOCK), np.float32), "flt", "stereo")
        silence.sample_rate, silence.pts = RATE, 0
        container.mux([*stream.encode(silence), *stream.encode(None)])
    file.seek(0)
    return av.open(file)
