"""The sound of the input beside the new pictures, on the same media time."""

import logging
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import av
from av.error import FFmpegError

from livefusion.core.timing import Timestamp
from livefusion.media.formats import OpenAudio
from livefusion.media.network.sound_ring import SoundReader

_log = logging.getLogger(__name__)


# What players take from an MP4. FFmpeg would also store PCM, and fails to finish a fragmented file with it.
_MP4_CODECS = frozenset({"aac", "ac3", "alac", "eac3", "flac", "mp3", "mp3float", "opus", "libopus"})


# What every player and server takes from a live stream.
_STREAM_FORMATS = frozenset({"flv", "mpegts", "rtsp"})
_STREAM_CODECS = frozenset({"aac", "mp3", "mp3float"})


# What a container's header needs the decoder's configuration of; transport streams carry it in the packets.
_CONFIGURED_CODECS = frozenset({"aac", "alac", "flac", "opus", "libopus", "vorbis"})


class Soundtrack:
    """One audio stream of an output container, fed from the input as far as the pictures have come.

    Packets are copied as they are where the container can carry their codec, else encoded anew as AAC.
    Sound before the first picture is left out, and so is sound after the last one. Damaged sound ends early:
    it never stops the pictures.
    """

    def __init__(self, container: Any, reader: OpenAudio) -> None:
        self._container = container
        self._reader = reader
        self._origin: Timestamp | None = None
        self._broken = False
        self._writer: _Copy | _Transcode = (
            _Copy(container, reader.stream)
            if _can_copy(container, reader)
            else _Transcode(container, reader.stream)
        )

    def start(self, origin: Timestamp) -> None:
        """Take the first picture's media time as the output's zero."""
        self._origin = origin

    def advance(self, until: Timestamp) -> None:
        """Write the sound that starts before ``until``, in the input's media time."""
        assert self._origin is not None, "start comes first"
        if self._broken:
            return
        for packet in self._reader.until(until.seconds):
            shift = round(self._origin.pts * self._origin.time_base / packet.time_base)
            if packet.pts >= shift and not self._mux(self._writer.convert(packet, shift)):
                return

    def finish(self, until: Timestamp) -> None:
        """Write the rest of the sound up to ``until``, the end of the last picture."""
        self.advance(until)
        if not self._broken:
            self._mux(self._writer.flush())

    def _mux(self, packets: list[Any]) -> bool:
        try:
            self._container.mux(packets)
        except FFmpegError as error:
            _log.warning("the sound is damaged and ends early: %s", error)
            self._broken = True
        return not self._broken

    def close(self) -> None:
        """Stop reading the input."""
        self._reader.close()


def _can_copy(container: Any, reader: OpenAudio) -> bool:
    source = reader.stream
    name = source.codec_context.name
    if isinstance(reader, SoundReader):  # sound of a stream, decoded already: too large to be kept as it is
        return False
    if name in _CONFIGURED_CODECS and not source.codec_context.extradata:
        return False
    if container.format.name == "mp4":
        return name in _MP4_CODECS
    if container.format.name in _STREAM_FORMATS:
        return name in _STREAM_CODECS
    return name in container.supported_codecs


class _Copy:
    """Passes packets on unchanged."""

    def __init__(self, container: Any, source: Any) -> None:
        self._stream = container.add_stream_from_template(source)
        self._last_dts: int | None = None

    def convert(self, packet: Any, shift: int) -> list[Any]:
        """The packet, ``shift`` ticks of its time base earlier; none if its time does not rise."""
        packet.pts -= shift
        packet.dts = packet.pts if packet.dts is None else packet.dts - shift
        if self._last_dts is not None and packet.dts <= self._last_dts:
            return []
        self._last_dts = packet.dts
        packet.stream = self._stream
        return [packet]

    def flush(self) -> list[Any]:
        """Nothing is held back."""
        return []


class _Transcode:
    """Decodes packets and encodes their sound as AAC."""

    def __init__(self, container: Any, source: Any) -> None:
        rate = source.codec_context.sample_rate
        layout = "mono" if source.codec_context.channels == 1 else "stereo"
        self._stream = container.add_stream("aac", rate=rate, layout=layout)
        self._resampler = av.AudioResampler(format="fltp", layout=layout, rate=rate)

    def convert(self, packet: Any, shift: int) -> list[Any]:
        """AAC packets of the sound, ``shift`` ticks of the packet's time base earlier."""
        packets: list[Any] = []
        try:
            for frame in packet.decode():
                frame.pts = (frame.pts or 0) - _rescale(shift, packet.time_base, frame.time_base)
                packets += self._encode(self._resampler.resample(frame))
        except (FFmpegError, ValueError) as error:
            # The resampler refuses with ValueError what is not like the first frame.
            _log.debug("damaged sound packet at pts %s: %s", packet.pts, error)
        return packets

    def flush(self) -> list[Any]:
        """The sound that the resampler and the encoder still hold."""
        return self._encode(self._resampler.resample(None)) + list(self._stream.encode(None))

    def _encode(self, frames: Iterable[Any]) -> list[Any]:
        return [packet for frame in frames for packet in self._stream.encode(frame)]


def _rescale(ticks: int, source: Fraction, target: Fraction) -> int:
    return round(ticks * source / target)
