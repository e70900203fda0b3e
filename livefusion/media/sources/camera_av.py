"""Cameras through FFmpeg's device inputs: v4l2, dshow, avfoundation."""

import errno
import logging
import sys
import time
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import av
import av.device
from av.error import FFmpegError

from livefusion.core.errors import DriverError
from livefusion.core.timing import NANOSECONDS
from livefusion.media.sources.capture import CameraRequest

_log = logging.getLogger(__name__)

_FORMATS = {"linux": "v4l2", "win32": "dshow", "darwin": "avfoundation"}
_OPEN_SECONDS, _READ_SECONDS = 5.0, 2.0


class AvCapture:
    """A camera as a FFmpeg input; the driver's own capture times are kept where they are monotonic."""

    def __init__(self, request: CameraRequest) -> None:
        self._format = _FORMATS.get(sys.platform, "")
        if not self._format:
            raise DriverError(f"FFmpeg has no camera input on {sys.platform}", "name a video file instead")
        self._device = request.device
        self._container = self._open(request)
        self._stream = self._container.streams.video[0]
        self._stream.codec_context.thread_type = "SLICE"
        self._packets: Iterator[Any] = self._container.demux(self._stream)
        self._ready: deque[Any] = deque()

    @property
    def codec(self) -> str:
        """What the camera sends."""
        return str(self._stream.codec_context.name)

    @property
    def fps(self) -> Fraction:
        """The frame rate that the driver promises."""
        return Fraction(self._stream.average_rate or self._stream.guessed_rate or 30)

    @property
    def backend(self) -> str:
        """FFmpeg's name of the system interface."""
        return self._format

    def read(self) -> tuple[Any, int | None]:
        """The next picture and its capture time. ``DriverError`` when the camera is gone."""
        while not self._ready:
            try:
                packet = next(self._packets, None)
            except FFmpegError as error:
                raise self._gone(error.strerror) from error
            if packet is None:
                raise self._gone("no more pictures")
            self._ready.extend(_decode(packet))
        picture = self._ready.popleft()
        return picture, _monotonic_ns(picture)

    def close(self) -> None:
        """Let the camera go."""
        self._container.close()

    def _gone(self, reason: str | None) -> DriverError:
        return DriverError(f"camera {self._device} stopped ({reason})", "plug it in again")

    def _open(self, request: CameraRequest) -> Any:
        name = _device_name(request.device, self._format)
        problem: FFmpegError | None = None
        for options in _attempts(request, self._format):
            try:
                container = av.open(
                    name, format=self._format, options=options, timeout=(_OPEN_SECONDS, _READ_SECONDS)
                )
            except FFmpegError as error:
                problem = error
                continue
            if container.streams.video:
                return container
            container.close()
        raise _translate(request.device, problem) from problem


def list_devices() -> list[tuple[str, str]]:
    """(number, name) of the cameras that FFmpeg's device input can enumerate."""
    try:
        devices = av.device.enumerate_input_devices(_FORMATS.get(sys.platform, ""))
    except (FFmpegError, ValueError, NotImplementedError):
        return []
    cameras = [device for device in devices if not device.media_types or "video" in device.media_types]
    return [(str(index), device.description or device.name) for index, device in enumerate(cameras)]


def _decode(packet: Any) -> list[Any]:
    """The pictures of a packet; none of a damaged one, which cheap cameras send now and then."""
    try:
        pictures: list[Any] = packet.decode()
    except FFmpegError as error:
        _log.debug("damaged picture from the camera: %s", error)
        return []
    return pictures


def _attempts(request: CameraRequest, form: str) -> list[dict[str, str]]:
    """Options from the most to the least demanding.

    Motion JPEG comes first: raw 4:2:2 at 720p30 is more than USB 2 carries, so drivers then give 10 fps.
    """
    asked = {}
    if request.size is not None:
        asked["video_size"] = str(request.size)
    if request.fps is not None:
        asked["framerate"] = f"{request.fps:g}"
    compressed = {"v4l2": {"input_format": "mjpeg"}, "dshow": {"vcodec": "mjpeg"}}.get(form, {})
    size_only = {key: value for key, value in asked.items() if key == "video_size"}
    attempts: list[dict[str, str]] = []
    for options in ({**asked, **compressed}, asked, size_only, {}):
        if options not in attempts:
            attempts.append(options)
    return attempts


def _device_name(device: str, form: str) -> str:
    if form == "v4l2":
        return f"/dev/video{device}" if device.isdigit() else device
    if form == "dshow":
        names = dict(list_devices())
        return f"video={names.get(device, device)}"
    # avfoundation takes a microphone behind the colon.
    return f"{device}:none" if form == "avfoundation" else device


def _monotonic_ns(picture: Any) -> int | None:
    """The driver's capture time, if it is one of the last second on the monotonic clock."""
    if picture.pts is None or picture.time_base is None:
        return None
    captured_ns = round(picture.pts * picture.time_base * NANOSECONDS)
    age = time.monotonic_ns() - captured_ns
    return captured_ns if 0 <= age < NANOSECONDS else None


def _translate(device: str, error: FFmpegError | None) -> DriverError:
    reason = error.strerror if error is not None else "it gives no picture"
    remedy = "plug one in, or see `livefusion doctor` for the cameras there are"
    if error is not None and error.errno == errno.EACCES:
        remedy = "allow this program to use the camera (on Linux, join the group video)"
    elif error is not None and error.errno == errno.EBUSY:
        remedy = "close the program that uses it"
    return DriverError(f"camera {device} cannot be opened ({reason})", remedy)
