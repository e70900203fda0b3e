"""H.264 on the CPU by libx264, set for latency."""

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError
from av.video.frame import PictureType

from livefusion.core.errors import MachineError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.media.encode.keyframes import KEYFRAME_SECONDS, KeyframeClock
from livefusion.media.formats import OutputFormat
from livefusion.media.h273 import write_color
from livefusion.media.host import Fitter, HostPictures
from livefusion.media.recolor import Recolorer

# 720p, one thread, p50: ultrafast 2.3 ms at 4.3 Mbit/s, superfast 4.9 ms at 3.6, veryfast 8.2 ms at 2.9.
# A second thread makes 1.5 ms of the 2.3 if a core is idle, but 6.7 if none is: the slices then wait for each
# other. So it takes cores that the rest of the graph leaves. NV12 and I420 input cost the same.
_PRESET = "ultrafast"
_THREADS = 2 if (os.cpu_count() or 1) >= 4 else 1
_QUALITY = 21
# What a key frame may take of the wire at the ceiling: one of 720p has 75 KB without it, 33 with it.
_BUFFER_SECONDS = Fraction(1, 8)


class X264Encoder:
    """Constant quality, no look-ahead, no B-frames: each frame gives its packet at once.

    ``ceiling`` is the most that it may need, in bits a second, with the quality going down where that is not
    enough. ``keyframe_seconds`` is the longest time between two key frames.
    """

    def __init__(
        self,
        device: Device,
        *,
        quality: int = _QUALITY,
        preset: str = _PRESET,
        ceiling: int | None = None,
        keyframe_seconds: int = KEYFRAME_SECONDS,
    ) -> None:
        self._host = HostPictures(device)
        self._quality = quality
        self._preset = preset
        self._ceiling = ceiling
        self._keyframe_seconds = keyframe_seconds
        self._context: Any = None
        self._keyframes = KeyframeClock(keyframe_seconds)

    @property
    def codec(self) -> str:
        """``h264``."""
        return "h264"

    def open(self, output: OutputFormat) -> None:
        """Start libx264. ``MachineError`` if this FFmpeg has none or it refuses the size."""
        self._output = output
        try:
            self._context = self._create_context(output)
            self._context.open()
        except (FFmpegError, ValueError) as error:
            reason = error.strerror if isinstance(error, FFmpegError) else str(error)
            raise MachineError(
                f"the H.264 encoder refuses {output.size} ({reason})", "choose another size or reinstall av"
            ) from error
        self._fitter = Fitter(output.size)
        self._recolorer = Recolorer(output.color)
        self._picture = HostPicture(output)
        self._keyframes = KeyframeClock(self._keyframe_seconds)

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        """The one packet of a frame; a key frame if asked for, and at least each second of media time."""
        planes = self._fitter.fit(*self._host.planes(frame), frame.color.range)
        luma, chroma = self._recolorer.recolor(*planes, frame.color)
        ts = frame.ts.rescale(self._output.time_base)
        picture = self._picture.fill(luma, chroma)
        picture.pts = ts.pts
        is_key = self._keyframes.is_key(ts, wanted=keyframe)
        picture.pict_type = PictureType.I if is_key else PictureType.NONE
        packets: list[Any] = self._context.encode(picture)
        assert len(packets) == 1, "an encoder without delay gives a packet for a frame"
        return packets

    def set_ceiling(self, ceiling: int) -> None:
        """Need no more than so many bits a second from the next frame on, which is a key frame then.

        PyAV lets libx264 take another ceiling only when it is opened.
        """
        if ceiling == self._ceiling:
            return
        self._ceiling = ceiling
        if self._context is not None:
            self._context = self._create_context(self._output)
            self._keyframes = KeyframeClock(self._keyframe_seconds)

    def flush(self) -> Sequence[Any]:
        """The packets that are still inside; there are none."""
        packets: list[Any] = self._context.encode(None)
        return packets

    def close(self) -> None:
        """Stop libx264."""
        self._context = None

    def _create_context(self, output: OutputFormat) -> Any:
        context = av.CodecContext.create("libx264", "w")
        context.width, context.height, context.pix_fmt = output.size.width, output.size.height, "nv12"
        context.time_base, context.framerate = output.time_base, output.fps
        context.sample_aspect_ratio = output.pixel_aspect
        context.thread_count = _THREADS
        context.options = {
            "preset": self._preset,
            "tune": "zerolatency",
            "crf": str(self._quality),
            "bf": "0",
            "forced-idr": "1",
            # Key frames go by media time, not by count: rates vary. This is only x264's own upper bound.
            "g": str(max(1, round(output.fps)) * self._keyframe_seconds * 4),
        }
        if self._ceiling is not None:
            context.options |= {
                "maxrate": str(self._ceiling),
                "bufsize": str(round(self._ceiling * _BUFFER_SECONDS)),
            }
        write_color(context, output.color)
        return context


class HostPicture:
    """One ``av.VideoFrame`` used again and again: encoders have copied it when ``encode`` returns."""

    def __init__(self, output: OutputFormat) -> None:
        size = output.size
        self._frame = av.VideoFrame(size.width, size.height, "nv12")
        self._frame.time_base = output.time_base
        write_color(self._frame, output.color)
        self._luma, self._chroma = _planes(self._frame, size)

    def fill(self, luma: npt.NDArray[np.uint8], chroma: npt.NDArray[np.uint8]) -> Any:
        """The frame with these pixels."""
        np.copyto(self._luma, luma)
        np.copyto(self._chroma, chroma)
        return self._frame


def _planes(frame: Any, size: Size) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    luma, chroma = (
        np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:, : size.width] for plane in frame.planes
    )
    return luma, chroma.reshape(size.height // 2, size.width // 2, 2)
