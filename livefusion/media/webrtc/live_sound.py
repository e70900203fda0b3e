"""The sound of a peer on the media time of its pictures."""

import io
import threading
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import av
import numpy as np

from livefusion.media.encode.opus import PACKET, SAMPLE_RATE, TIME_BASE, EncodedSound, opus_samples

KEPT = 10 * SAMPLE_RATE
"""Samples that are kept for readers: ten seconds. One that is further behind misses what is older."""
_CYCLE = 1 << 32
_VIDEO_TICKS = 90_000
# Within this the sound goes on where it was: clocks are read with some jitter, which must not be heard.
_TOLERANCE = SAMPLE_RATE * 15 // 1000
# A stereo packet of 20 ms without a sound in it.
_SILENCE = b"\xfc\xff\xfe"
_GAP = SAMPLE_RATE // 10
"""Samples that are missing for so long are silence; fewer are a lost packet, which decoders conceal."""
# How much later than its picture sound may come, in samples, while somebody speaks, and while nobody does.
_LATE, _LATE_IN_SILENCE = SAMPLE_RATE // 2, SAMPLE_RATE // 20
_SPEAKS = 2 * SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A picture's RTP time and its media time, both at 90 kHz, and who sent it."""

    sender: int
    rtp_time: int
    pts: int


class LiveSound:
    """Opus packets of whoever sends, for any number of readers. Thread-safe.

    A packet is placed by the picture that it belongs to; one that comes before the first picture of its
    sender is left out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._anchor: _Anchor | None = None
        self._packets: list[EncodedSound] = []
        self._sender = 0
        self._shift = 0
        """Media time of the sender's sound minus its RTP time."""
        self.received = 0
        """Packets that came."""

    def anchor(self, sender: int, rtp_time: int, pts: int) -> None:
        """A picture of ``sender`` with that RTP time has that media time; both at 90 kHz."""
        with self._lock:
            self._anchor = _Anchor(sender, rtp_time, pts)

    def put(self, sender: int, data: bytes, sound_time: int, video_time: int) -> None:
        """Take an Opus packet: its RTP time at 48 kHz, counted on, and that of its picture at 90 kHz."""
        samples = opus_samples(data)
        if not samples:
            return
        with self._lock:
            self.received += 1
            anchor = self._anchor
            if anchor is None or anchor.sender != sender:
                return
            pts = self._place(anchor, sound_time, video_time)
            if pts < 0:
                return
            insort(self._packets, EncodedSound(data, pts, samples), key=_pts)
            while self._packets[0].pts < self._packets[-1].pts - KEPT:
                del self._packets[0]

    def open(self) -> "LiveSoundReader":
        """A new reader, from now on."""
        with self._lock:
            last = self._packets[-1].pts if self._packets else -1
        return LiveSoundReader(self, last)

    def between(self, after: int, before: float) -> list[EncodedSound]:
        """The packets whose media time lies strictly between two, in order."""
        with self._lock:
            start = bisect_right(self._packets, after, key=_pts)
            packets = self._packets[start:]
        return [packet for packet in packets if packet.pts < before]

    def _place(self, anchor: _Anchor, sound_time: int, video_time: int) -> int:
        """The media time at 48 kHz."""
        step = (video_time - anchor.rtp_time) % _CYCLE
        step = step if step < _CYCLE // 2 else step - _CYCLE
        told = (anchor.pts + step) * SAMPLE_RATE // _VIDEO_TICKS
        shift = told - sound_time
        if self._sender != anchor.sender or abs(shift - self._shift) > _TOLERANCE:
            self._sender, self._shift = anchor.sender, shift
        return sound_time + self._shift


class LiveSoundReader:
    """Gives packets up to a moment of media time, each once, in order, and silence where there are none.

    A recording cannot be played after a kill while one of its tracks is empty, and streaming services take no
    stream without sound: so it never stops, whoever sends and says nothing.
    """

    def __init__(self, sound: LiveSound, last: int) -> None:
        self._sound = sound
        self._last = last
        self._heard: int | None = None
        """The last packet of somebody who speaks."""
        self._next: int | None = None
        """The end of what was given."""
        self._container: Any = _container()
        self._stream = self._container.streams.audio[0]

    @property
    def stream(self) -> Any:
        """An ``av.AudioStream`` that the packets belong to and that can decode them."""
        return self._stream

    def until(self, seconds: float) -> Iterator[Any]:
        """The packets that start before ``seconds`` of media time and were not given yet."""
        before = seconds * SAMPLE_RATE
        for sound in self._sound.between(self._last, before):
            yield from self._silence(sound.pts if self._gap(sound.pts) >= _GAP else 0)
            self._heard = sound.pts
            yield self._packet(sound)
        speaks = self._heard is not None and before - self._heard < _SPEAKS
        yield from self._silence(before - (_LATE if speaks else _LATE_IN_SILENCE))
        if self._next is None:
            self._next = round(before)

    def _gap(self, pts: int) -> int:
        return 0 if self._next is None else pts - self._next

    def _silence(self, end: float) -> Iterator[Any]:
        """Packets of silence from where it stopped up to ``end``."""
        while self._next is not None and self._next + PACKET <= end:
            yield self._packet(EncodedSound(_SILENCE, self._next, PACKET))

    def _packet(self, sound: EncodedSound) -> Any:
        self._last, self._next = sound.pts, sound.pts + sound.samples
        packet = av.Packet(sound.data)
        packet.stream, packet.time_base = self._stream, TIME_BASE
        packet.pts = packet.dts = sound.pts
        packet.duration = sound.samples
        return packet

    def close(self) -> None:
        """Let go of the decoder."""
        self._container.close()


def _pts(sound: EncodedSound) -> int:
    return sound.pts


def _container() -> Any:
    """A file in memory with an Opus stream: only a stream of a file can be copied to one, or decode."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream: Any = container.add_stream("libopus", rate=SAMPLE_RATE, layout="stereo")
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 2 * PACKET), np.int16), layout="stereo")
        silence.sample_rate, silence.pts = SAMPLE_RATE, 0
        container.mux([*stream.encode(silence), *stream.encode(None)])
    file.seek(0)
    return av.open(file)
