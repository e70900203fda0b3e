"""One open stream: FFmpeg's demuxer, set for latency."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from time import monotonic
from typing import Any, Final

import av
from av.codec.context import Flags
from av.error import FFmpegError
from av.stream import Discard

from livefusion.core.errors import InputError
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.trouble import explain, require_host
from livefusion.media.network.trust import ask_why, ffmpeg_options
from livefusion.media.network.whole_units import is_key, is_one_picture, is_whole_sound

OPEN_SECONDS: Final = 10.0
"""Longest wait for a server and for the first key frame."""
READ_SECONDS: Final = 5.0
"""Longest wait for a packet: then the connection is given up."""
DEFAULT_FPS: Final = Fraction(30)
_MAX_FPS = 125
_THREADS = 2 if (os.cpu_count() or 1) >= 4 else 1
# Through nginx, capture to decoded picture, p50: 76 ms with FFmpeg's own values, 36 with these and sound
# muxed ahead of its pictures. A probesize of 32 loses the video stream altogether. Not "nobuffer": it throws
# away what was analysed, the first key frame with it, and the next may be ten seconds off. What is kept
# instead is decoded in a burst, of which only the last picture is given.
_LATENCY = {"probesize": "32768", "analyzeduration": "500000"}
# A server may send seconds of sound before the next key frame: too short an analysis ends without a picture.
# A longer one ends as soon as both are there, but in full where there is no sound.
_PATIENT = {"probesize": "2000000", "analyzeduration": "10000000"}
_UNPARSED = {"fflags": "noparse"}
_JUDGED, _MOST_JUDGED = 4, 60
"""Pictures after which it is known how a sender packs them, and its sound, of which some may be late."""
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "rtsp": {"rtsp_transport": "tcp", "max_delay": "100000"},
    "rtsps": {"rtsp_transport": "tcp", "max_delay": "100000"},
    # What overruns the buffer is lost, instead of ending the stream.
    "udp": {"overrun_nonfatal": "1", "fifo_size": "20000", "buffer_size": "2097152"},
}
_FORMATS = {"rtmp": "flv", "rtmps": "flv", "udp": "mpegts"}


class Connection:
    """The packets of a stream's video and, if it has one, of its sound.

    Pictures of a transport stream are given as soon as they are there if its packets are whole. The decoder
    of the video stream keeps no picture back: slice threads, and ``low_delay`` unless pictures
    are reordered.
    """

    def __init__(self, address: StreamAddress, url: str) -> None:
        self._address = address
        self.video: Any = None
        self.audio: Any = None
        self._first: list[Any] = []
        self._is_whole = False
        self._container: Any = None
        try:
            self._connect(url)
        except BaseException:  # also Ctrl-C: nothing half open may stay
            self.close()
            raise

    def _connect(self, url: str) -> None:
        address = self._address
        if url.startswith("udp:"):
            self._begin(url, _UNPARSED)
            self._is_whole = self._find_whole()
        if not self._is_whole:
            self._first = []
            self._begin(url, {})
            if self.video is None and not address.listens:
                self._begin(url, _PATIENT)
        if self.video is None:
            raise InputError(f"what comes from {address.scheme}://{address.place} has no picture", "send one")
        _tune(self.video.codec_context)

    def _begin(self, url: str, more: Mapping[str, str]) -> None:
        """Open the stream, anew if it is open."""
        self.close()
        self._container = _open(self._address, url, more)
        self.video = next(iter(self._videos), None)
        self.audio = next((one for one in self._container.streams.audio if one.codec_context), None)
        for stream in self._container.streams:
            if stream not in (self.video, self.audio):
                stream.discard = Discard.all

    def _find_whole(self) -> bool:
        """Whether packets need no parsing, by those that were analysed; they are kept."""
        if self.video is None or self.video.codec_context.name != "h264":
            return False
        if self.audio is not None and self.audio.codec_context.name != "aac":
            return False
        pictures = sounds = 0
        for packet in self._read():
            self._first.append(packet)
            is_picture = packet.stream is self.video
            if not (is_one_picture(packet) if is_picture else is_whole_sound(packet)):
                return False
            pictures += is_picture
            sounds += not is_picture
            if pictures >= _JUDGED and (sounds or self.audio is None or pictures == _MOST_JUDGED):
                break
        return True

    @property
    def _videos(self) -> list[Any]:
        return [one for one in self._container.streams.video if one.codec_context is not None]

    @property
    def fps(self) -> Fraction:
        """The rate that the stream names; 30 where it names none or an absurd one."""
        rate = self.video.average_rate or self.video.guessed_rate
        return Fraction(rate).limit_denominator(1001) if rate and 1 <= rate <= _MAX_FPS else DEFAULT_FPS

    def packets(self) -> Iterator[Any]:
        """The packets as they come. ``InputError`` if they end or nothing comes for too long."""
        first, self._first = self._first, []
        for packet in chain(first, self._read()):
            if self._is_whole and packet.stream is self.video:
                packet.is_keyframe = is_key(packet)
            yield packet

    def _read(self) -> Iterator[Any]:
        place = f"{self._address.scheme}://{self._address.place}"
        began = monotonic()
        wanted = [one for one in (self.video, self.audio) if one is not None]
        try:
            for packet in self._container.demux(wanted):
                if packet.size:
                    yield packet
                began = monotonic()
        except FFmpegError as error:
            if monotonic() - began >= READ_SECONDS:
                raise InputError(f"{place} sends nothing any more", "check the sender") from error
            if error.errno != errno.EIO:  # FFmpeg's word for the end of an RTMP stream
                raise InputError(f"{place} broke off ({error.strerror})", "check the sender") from error
        raise InputError(f"{place} ended its stream", "start the sender again")

    def close(self) -> None:
        """Hang up."""
        if self._container is not None:
            with suppress(FFmpegError):
                self._container.close()


def _tune(context: Any) -> None:
    context.thread_type = "SLICE"
    context.thread_count = _THREADS
    if not context.has_b_frames:
        context.flags |= Flags.low_delay


def _open(address: StreamAddress, url: str, more: Mapping[str, str]) -> Any:
    require_host(address, InputError)
    options = {**_LATENCY, **more, **_OPTIONS.get(address.scheme, {}), **ffmpeg_options(address)}
    if address.listens and address.scheme == "rtmp":
        options["listen"] = "1"
    began = monotonic()
    try:
        return av.open(
            url,
            format=_FORMATS.get(url.partition(":")[0]),
            options=options,
            metadata_errors="replace",
            timeout=(OPEN_SECONDS, READ_SECONDS),
        )
    except (FFmpegError, OSError, ValueError) as error:
        waited = monotonic() - began
        in_vain = OPEN_SECONDS if waited >= OPEN_SECONDS - 0.5 else None
        reason = ask_why(address, InputError) or explain(address, error, InputError, seconds=in_vain)
        raise reason from error
