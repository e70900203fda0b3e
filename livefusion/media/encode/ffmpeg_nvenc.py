"""H.264 by NVENC through FFmpeg: for a GPU whose PyNvVideoCodec cannot be used.

Each picture is copied to the host once and back by FFmpeg, 1.4 MB for 720p, which PyNvVideoCodec spares; but
the encoding itself is NVENC's, and not 2.3 ms of a core.
"""

import re
from collections.abc import Sequence
from typing import Any

import av
from av.error import FFmpegError
from av.video.frame import PictureType

from livefusion.core.errors import DeviceError, GraphError
from livefusion.core.frame import Frame
from livefusion.devices.device import Device
from livefusion.media.encode.keyframes import KEYFRAME_SECONDS, KeyframeClock
from livefusion.media.encode.x264 import HostPicture
from livefusion.media.formats import OutputFormat
from livefusion.media.h273 import write_color
from livefusion.media.host import Fitter, HostPictures
from livefusion.media.nvcodec.settings import bitrate_for
from livefusion.media.recolor import Recolorer

NAME = "h264_nvenc"
_ORDINAL = re.compile(r"cuda:(\d+)")


def nvenc_options(gpu: int, bitrate: int, fps: int) -> dict[str, str]:
    """What ``h264_nvenc`` is told: constant bitrate, a packet for each picture at once, no B-frames.

    Parameters before each key frame are its way where nobody asks for a header of the whole stream.
    """
    share = str(bitrate // max(1, fps))
    return {
        "gpu": str(gpu),
        "preset": "p3",
        "tune": "ull",
        "rc": "cbr",
        "b": str(bitrate),
        "maxrate": str(bitrate),
        "bufsize": share,
        "bf": "0",
        "delay": "0",  # FFmpeg would keep as many pictures as it has surfaces
        "zerolatency": "1",
        "rc-lookahead": "0",
        "forced-idr": "1",
        # Key frames go by media time, not by count: rates vary. This is only NVENC's own upper bound.
        "g": str(max(1, fps) * KEYFRAME_SECONDS * 4),
    }


class FfmpegNvencEncoder:
    """The same contract as ``NvencEncoder``, with pictures that come through the host.

    ``bitrate`` in bits a second is that of ``settings.bitrate_for`` if left out.
    """

    def __init__(self, device: Device, *, bitrate: int | None = None, name: str = NAME) -> None:
        self._host = HostPictures(device)
        self._name = name
        match = _ORDINAL.fullmatch(device.name)
        self._gpu = int(match[1]) if match else 0
        self._bitrate = bitrate
        self._context: Any = None
        self._keyframes = KeyframeClock()

    @property
    def codec(self) -> str:
        """``h264``."""
        return "h264"

    @property
    def bitrate(self) -> int:
        """Bits a second that are aimed at; 0 before ``open``."""
        return self._bitrate or 0

    def open(self, output: OutputFormat) -> None:
        """Start a session. ``DeviceError`` if there is no driver, no NVENC, or no session left."""
        self._output = output
        self._bitrate = self._bitrate or bitrate_for(output.size, output.fps)
        try:
            context: Any = av.CodecContext.create(self._name, "w")
            context.width, context.height, context.pix_fmt = output.size.width, output.size.height, "nv12"
            context.time_base, context.framerate = output.time_base, output.fps
            context.sample_aspect_ratio = output.pixel_aspect
            context.options = self._options(self._bitrate, round(output.fps))
            write_color(context, output.color)
            context.open()
        except (FFmpegError, ValueError) as error:
            reason = error.strerror if isinstance(error, FFmpegError) else str(error)
            raise DeviceError(f"FFmpeg's {self._name} does not open ({reason})") from error
        self._context = context
        self._fitter = Fitter(output.size)
        self._recolorer = Recolorer(output.color)
        self._picture = HostPicture(output)
        self._keyframes = KeyframeClock()

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        """The one packet of a frame. ``GraphError`` if it comes later, ``DeviceError`` if encoding fails."""
        planes = self._fitter.fit(*self._host.planes(frame), frame.color.range)
        ts = frame.ts.rescale(self._output.time_base)
        picture = self._picture.fill(*self._recolorer.recolor(*planes, frame.color))
        picture.pts = ts.pts
        is_key = self._keyframes.is_key(ts, wanted=keyframe)
        picture.pict_type = PictureType.I if is_key else PictureType.NONE
        try:
            packets: list[Any] = self._context.encode(picture)
        except FFmpegError as error:
            raise DeviceError(f"FFmpeg's {self._name} fails ({error.strerror})") from error
        if len(packets) != 1:
            raise GraphError(f"FFmpeg's {self._name} keeps pictures back")
        return packets

    def set_bitrate(self, bits: int) -> None:
        """Aim at another bitrate from the next frame on.

        FFmpeg looks at it before each picture and has NVENC reconfigured, without a key frame.
        """
        self._bitrate = bits
        if self._context is not None:
            self._context.bit_rate = bits

    def flush(self) -> Sequence[Any]:
        """The packets that are still inside; there are none."""
        try:
            packets: list[Any] = self._context.encode(None)
        except FFmpegError as error:
            raise DeviceError(f"FFmpeg's {self._name} fails ({error.strerror})") from error
        return packets

    def close(self) -> None:
        """End the session."""
        self._context = None

    def _options(self, bitrate: int, fps: int) -> dict[str, str]:
        return nvenc_options(self._gpu, bitrate, fps)
