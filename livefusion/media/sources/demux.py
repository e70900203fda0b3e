"""The pictures of a video file, one packet decoded at a time."""

import heapq
import logging
import os
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from itertools import dropwhile
from pathlib import Path
from typing import Any

import av
from av.codec.context import Flags
from av.error import FFmpegError
from av.stream import Discard, Disposition

from livefusion.core.errors import InputError
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.decode.layout import DevicePicture
from livefusion.media.decode.packets import PacketDecoder, SoftwareDecoder
from livefusion.media.paths import require_file

_log = logging.getLogger(__name__)

DEFAULT_FPS = Fraction(30)
_MAX_FPS = 240
_KEYS = 8
"""Key frames whose times are kept; pictures that are not given yet build on the last one or two."""
_DECODER_THREADS = 2 if (os.cpu_count() or 1) >= 4 else 1
# Formats in which a file, whatever its name, has FFmpeg open other files or devices: scripts, playlists,
# numbered pictures. What a stranger sent as clip.mp4 must not read along in the folder it was saved to.
_REACH_BEYOND = {
    "concat",
    "dash",
    "hds",
    "hls",
    "image2",
    "imf",
    "ivr",
    "lavfi",
    "rtp",
    "rtsp",
    "sap",
    "sdp",
} | {"alsa", "fbdev", "kmsgrab", "oss", "video4linux2,v4l2", "vobsub", "webm_dash_manifest", "x11grab"}


OpenDecoder = Callable[[Any], PacketDecoder]
"""Makes the decoder of an ``av.VideoStream``."""


def _decode_in_software(stream: Any) -> PacketDecoder:
    return SoftwareDecoder(stream.codec_context)


class VideoFile:
    """An open video file and the decoder of its first real video stream.

    Slice threads and ``low_delay`` keep the decoder from holding frames back: FFmpeg's default of one
    picture a thread costs a frame of latency for each. Damaged packets are counted and skipped.
    """

    def __init__(self, path: Path, open_decoder: OpenDecoder = _decode_in_software) -> None:
        self._path = path
        self._container = _open(path)
        try:
            self._stream = _video_stream(self._container, path)
        except InputError:
            self._container.close()
            raise
        read_only(self._container, self._stream)
        self._tune_decoder()
        self._decoder = open_decoder(self._stream)
        self._packets = self._container.demux(self._stream)
        self._ready: deque[Any] = deque()
        self._in_flight: list[int] = []
        self._keys: deque[tuple[int, int]] = deque(maxlen=_KEYS)
        self._given_pts: int | None = None
        self._again_until: int | None = None
        self._ended = False
        self._damaged_packets = 0
        self._damaged_pictures = 0
        self._cut_short = ""

    @property
    def codec(self) -> str:
        """FFmpeg's name of the video codec."""
        return str(self._stream.codec_context.name)

    @property
    def time_base(self) -> Fraction:
        """Time base of the pictures' pts."""
        return self._stream.time_base or Fraction(1, 1000)

    @property
    def fps(self) -> Fraction:
        """Nominal frame rate; 30 where the file names none or an absurd one."""
        rate = self._stream.average_rate or self._stream.guessed_rate
        return Fraction(rate) if rate and 0 < rate <= _MAX_FPS else DEFAULT_FPS

    @property
    def pixel_aspect(self) -> Fraction:
        """Width of a stored pixel by its height."""
        return self._stream.sample_aspect_ratio or Fraction(1)

    @property
    def frames(self) -> int | None:
        """Number of frames that the container promises."""
        return self._stream.frames or None

    @property
    def duration(self) -> float | None:
        """Seconds of video that the container promises."""
        if self._stream.duration:
            return float(self._stream.duration * self.time_base)
        return self._container.duration / av.time_base if self._container.duration else None

    @property
    def has_audio(self) -> bool:
        """True if the file has sound."""
        return bool(self._container.streams.audio)

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where decoding runs otherwise than it best would, and why."""
        return self._decoder.fallbacks

    @property
    def damage(self) -> str:
        """What was found broken so far, in words; empty if nothing."""
        parts = [
            f"{self._damaged_packets} damaged packets skipped" if self._damaged_packets else "",
            f"{self._damaged_pictures} damaged pictures" if self._damaged_pictures else "",
            self._cut_short,
        ]
        return "; ".join(part for part in parts if part)

    def next_picture(self, before_decoding: Callable[[int | None], bool]) -> Any:
        """The next ``av.VideoFrame`` or ``DevicePicture`` in order of presentation; None at the end.

        ``before_decoding`` is called with the pts of the earliest picture that the decoder owes, before it is
        given the packet that may complete it; False from it ends the reading of this file.
        """
        while not self._ready and not self._ended:
            packet = self._next_packet()
            if packet is None:
                break
            if packet.pts is not None:
                heapq.heappush(self._in_flight, packet.pts)
                if packet.is_keyframe and packet.dts is not None:
                    self._keys.append((packet.pts, packet.dts))
            if not before_decoding(self._in_flight[0] if self._in_flight else None):
                self._ended = True
                break
            self._decode(packet)
        if not self._ready:
            return None
        picture = self._ready.popleft()
        self._given_pts = picture.pts
        return picture

    def move(self, device: Device, pictures: int) -> None:
        """Decode for memory of that device from now on; what lies elsewhere already is decoded again."""
        self._ready = deque(one for one in self._ready if not isinstance(one, DevicePicture))
        if self._decoder.move(device, pictures) and not self._rewind():
            _log.warning("pictures of %s are lost up to the next key frame", self._path.name)

    def close(self) -> None:
        """Close the file."""
        self._ended = True
        self._ready.clear()
        self._decoder.close()
        self._container.close()

    def _rewind(self) -> bool:
        """Read again from the key frame that the next picture builds on; False if the file cannot."""
        given = self._given_pts
        if given is None or self._ended:
            return False
        dts = next((dts for pts, dts in reversed(self._keys) if pts <= given), None)
        if dts is None:
            return False
        try:
            self._container.seek(dts, stream=self._stream)
        except FFmpegError as error:
            _log.debug("%s cannot be rewound (%s)", self._path.name, error.strerror)
            return False
        # A container without an index may begin before the key frame, in the middle of what builds on others.
        behind = self._container.demux(self._stream)
        self._packets = dropwhile(lambda packet: packet.size and not packet.is_keyframe, behind)
        self._in_flight.clear()
        self._again_until = given
        return True

    def _is_again(self, picture: Any) -> bool:
        """Whether a picture was given before the file was rewound."""
        until = self._again_until
        if until is None or picture.pts is None:
            return False
        if picture.pts >= until:
            self._again_until = None
        return bool(picture.pts <= until)

    def _next_packet(self) -> Any:
        try:
            return next(self._packets, None)
        except FFmpegError as error:
            self._cut_short = f"the file is cut short ({error.strerror})"
            self._ended = True
            return None

    def _decode(self, packet: Any) -> None:
        try:
            pictures = self._decoder.decode(packet)
        except InputError as error:
            self._damaged_packets += 1
            _log.debug("damaged packet at pts %s of %s: %s", packet.pts, self._path.name, error)
            return
        for picture in pictures:
            while self._in_flight and picture.pts is not None and self._in_flight[0] <= picture.pts:
                heapq.heappop(self._in_flight)
            if self._is_again(picture):
                continue
            if not isinstance(picture, DevicePicture):
                # What was missing is made up by the decoder; a chip does not say so.
                self._damaged_pictures += bool(picture.is_corrupt)
            self._ready.append(picture)

    def _tune_decoder(self) -> None:
        context = self._stream.codec_context
        context.thread_type = "SLICE"
        context.thread_count = _DECODER_THREADS
        # With reordered pictures low_delay makes the H.264 decoder give the first ones in the wrong order.
        if not context.has_b_frames:
            context.flags |= Flags.low_delay


def read_only(container: Any, wanted: Any) -> None:
    """Spare the demuxer the streams that nobody reads."""
    for stream in container.streams:
        if stream.index != wanted.index:
            stream.discard = Discard.all


def open_container(path: Path) -> Any:
    """Open by the protocol ``file``, so that no colon in a name means another one, and nothing but this file.

    Raises what PyAV raises.
    """
    options = {"format_whitelist": ",".join(sorted(av.formats_available - _REACH_BEYOND))}
    return av.open(f"file:{path}", metadata_errors="replace", options=options)


def check_video(path: Path) -> None:
    """``InputError`` unless a file begins like a video and has pictures in it."""
    with _open(path) as container:
        _video_stream(container, path)


def _open(path: Path) -> Any:
    require_file(path, "video file")
    try:
        return open_container(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", "check the path") from error
    except PermissionError as error:
        raise InputError(f"{path} may not be read", "check its permissions") from error
    except (FFmpegError, OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as a video ({_reason(error)})", "check that it is complete and plays"
        ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, av.error.ArgumentError):  # FFmpeg's word for a format off the list
        return "not a kind of video file that is read here"
    return getattr(error, "strerror", None) or str(error)


def _video_stream(container: Any, path: Path) -> Any:
    for stream in container.streams.video:
        if not stream.disposition & Disposition.attached_pic and stream.codec_context is not None:
            return stream
    raise InputError(f"{path} has no video in it", "name a file with moving pictures")
