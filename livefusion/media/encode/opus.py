"""The sound of the input as Opus, which is what WebRTC takes."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
from av.error import FFmpegError

from livefusion.media.formats import OpenAudio

_log = logging.getLogger(__name__)

SAMPLE_RATE = 48_000
TIME_BASE = Fraction(1, SAMPLE_RATE)
"""Media time of Opus, whatever its contents were sampled at."""
PACKET = 960
"""Samples of a packet that we encode: 20 ms."""
BITRATE = 128_000
"""Bits a second; music in stereo has nothing left to be heard of its encoding."""
_NAMES = frozenset({"opus", "libopus"})
_MOST_SAMPLES = 5760  # 120 ms, which no packet may exceed


@dataclass(frozen=True, slots=True)
class EncodedSound:
    """An Opus packet, its media time and its length in samples at 48 kHz."""

    data: bytes
    pts: int
    samples: int


class OpusReader:
    """Reads the sound of an input as Opus: as it is where it is Opus already, else encoded for music.

    Damaged sound ends early: it never stops the pictures. For one thread.
    """

    def __init__(self, source: OpenAudio, *, bitrate: int = BITRATE) -> None:
        self._source = source
        self._is_opus = source.stream.codec_context.name in _NAMES
        self._encoder = None if self._is_opus else _Encoder(bitrate)

    def until(self, seconds: float) -> Iterator[EncodedSound]:
        """The packets that start before ``seconds`` of media time, and were not given yet."""
        for packet in self._source.until(seconds):
            if self._encoder is None:
                yield _as_it_is(packet)
            else:
                yield from self._encoder.encode(packet)

    def skip(self, seconds: float) -> None:
        """Pass over what starts before ``seconds`` of media time."""
        for _ in self._source.until(seconds):
            pass

    def close(self) -> None:
        """Stop reading the input."""
        self._source.close()


class _Encoder:
    def __init__(self, bitrate: int) -> None:
        context: Any = av.CodecContext.create("libopus", "w")
        context.bit_rate, context.sample_rate, context.time_base = bitrate, SAMPLE_RATE, TIME_BASE
        context.format, context.layout = "flt", "stereo"
        # voip, FFmpeg's neighbour of it, filters and models speech.
        context.options = {"application": "audio", "frame_duration": "20", "vbr": "constrained"}
        self._context = context
        self._resampler = av.AudioResampler(
            format="flt", layout="stereo", rate=SAMPLE_RATE, frame_size=PACKET
        )

    def encode(self, packet: Any) -> Iterable[EncodedSound]:
        """The Opus packets that one of another codec completes."""
        try:
            coded = [
                one
                for frame in packet.decode()
                for even in self._resampler.resample(self._placed(frame, packet))
                for one in self._context.encode(even)
            ]
        except (FFmpegError, ValueError) as error:
            # The resampler refuses with ValueError what is not like the first frame.
            _log.debug("damaged sound packet at pts %s: %s", packet.pts, error)
            return []
        return [EncodedSound(bytes(one), _ticks(one), PACKET) for one in coded]

    def _placed(self, frame: Any, packet: Any) -> Any:
        if frame.pts is None:
            frame.pts, frame.time_base = packet.pts, packet.time_base
        return frame


def _as_it_is(packet: Any) -> EncodedSound:
    data = bytes(packet)
    return EncodedSound(data, _ticks(packet), opus_samples(data))


def _ticks(packet: Any) -> int:
    """The media time of a packet at 48 kHz."""
    ticks: int = round(packet.pts * packet.time_base * SAMPLE_RATE)
    return ticks


def opus_samples(data: bytes) -> int:
    """How many samples at 48 kHz an Opus packet (RFC 6716, 3.1) holds; 0 if it is none."""
    if not data:
        return 0
    mode, code = data[0] >> 3, data[0] & 3
    if mode < 12:
        frame = (480, 960, 1920, 2880)[mode & 3]
    elif mode < 16:
        frame = (480, 960)[mode & 1]
    else:
        frame = (120, 240, 480, 960)[mode & 3]
    frames = (1, 2, 2, data[1] & 0x3F if len(data) > 1 else 0)[code]
    samples = frame * frames
    return samples if samples <= _MOST_SAMPLES else 0
