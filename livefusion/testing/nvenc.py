"""The encoder of the stand-in for PyNvVideoCodec: libx264, fed from a picture that is read late."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np
from av.video.frame import PictureType

from livefusion.core.errors import GraphError
from livefusion.core.geometry import Size
from livefusion.devices.device import Array, Stream
from livefusion.media.nvcodec.settings import ARGUMENTS

if TYPE_CHECKING:
    from livefusion.testing.nvcodec import StandInModule

FORCEIDR = 2
IDR = 3


@dataclass(slots=True)
class ReconfigureParams:
    """As ``structEncodeReconfigureParams``."""

    averageBitrate: int = 0  # noqa: N815 - names as there
    maxBitRate: int = 0  # noqa: N815
    vbvBufferSize: int = 0  # noqa: N815
    vbvInitialDelay: int = 0  # noqa: N815
    frameRateNum: int = 0  # noqa: N815
    frameRateDen: int = 1  # noqa: N815


class StandInEncoder:
    """As ``PyNvEncoder``: one dictionary out for each picture in, after ``faults.delay`` others.

    Unlike the real one it refuses arguments that it does not know.
    """

    def __init__(
        self, module: "StandInModule", size: Size, stream: Stream, arguments: Mapping[str, Any]
    ) -> None:
        if unknown := set(arguments) - ARGUMENTS:
            raise GraphError(f"unknown arguments {sorted(unknown)}")
        self._module = module
        self._size = size
        self._stream = stream
        self.arguments = dict(arguments)
        self.bitrates = [int(arguments["bitrate"])]
        self.flags: list[int] = []
        self._inside: deque[dict[str, Any]] = deque()
        self._count = 0
        self._begins = True
        self._input = module.device.empty((size.height * 3 // 2, size.width), "uint8")
        self._context = _open_x264(size, int(arguments["fps"]))
        module.open_sessions += 1

    def __del__(self) -> None:
        if hasattr(self, "_context"):
            self._module.open_sessions -= 1

    def Encode(self, picture: Any, flags: int = 0) -> list[dict[str, Any]]:  # noqa: N802 - its name there
        """The packets of pictures that were given so far, less those held back."""
        call, self._module.encoded = self._module.encoded, self._module.encoded + 1
        if call in self._module.faults.encode_fails:
            raise self._module.fail("nvEncEncodePicture returned error 20")
        self.flags.append(flags)
        self._copy(picture)
        self._stream.synchronize()  # the bitstream is locked, which waits for the encoder
        self._inside.append(self._encode(is_key=bool(flags & FORCEIDR) or self._begins))
        self._begins = False
        self._count += 1
        ready = len(self._inside) - self._module.faults.delay
        return [self._inside.popleft() for _ in range(max(0, ready))]

    def EndEncode(self) -> list[dict[str, Any]]:  # noqa: N802 - the same
        """What is still inside."""
        if self._module.faults.no_flush:
            return []
        self._begins = self._module.faults.flush_restarts
        left = list(self._inside)
        self._inside.clear()
        return left

    def GetEncodeReconfigureParams(self) -> ReconfigureParams:  # noqa: N802 - the same
        """The rates as they are."""
        return ReconfigureParams(averageBitrate=self.bitrates[-1], frameRateNum=self.arguments["fps"])

    def Reconfigure(self, parameters: ReconfigureParams) -> bool:  # noqa: N802 - the same
        """Take other rates, if the driver does."""
        if self._module.faults.no_reconfigure:
            return False
        self.bitrates.append(parameters.averageBitrate)
        return True

    def _copy(self, picture: Any) -> None:
        """Put the copy into the encoder's own memory on its stream, as the real one does."""
        luma, chroma = (self._adopt(view.__cuda_array_interface__) for view in picture.cuda())
        target, rows = self._input, self._size.height
        if luma.shape[:2] != (rows, self._size.width) or luma.strides[0] != chroma.strides[0]:
            raise self._module.fail("strides of y and uv plane are different")

        def copy() -> None:
            np.copyto(target[:rows], luma[:, :, 0])
            np.copyto(target[rows:].reshape(chroma.shape), chroma)

        self._module.device.run(copy, self._stream, reads=(luma, chroma), writes=(target,), name="nvenc")

    def _adopt(self, view: Mapping[str, Any]) -> Array:
        return self._module.device.adopt(view["data"][0], view["shape"], view["strides"], view["typestr"])

    def _encode(self, *, is_key: bool) -> dict[str, Any]:
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(self._input), format="nv12")
        frame.pts = self._count
        frame.pict_type = PictureType.I if is_key else PictureType.NONE
        [packet] = self._context.encode(frame)
        picture_type = IDR if packet.is_keyframe else 0
        return {"data": bytes(packet), "timestamp": self._count, "picture_type": picture_type}


def encode_grey(size: Size) -> tuple[bytes, bytes]:
    """A grey picture as a key frame, and the same again as none."""
    context = _open_x264(size, 30)
    frame = av.VideoFrame.from_ndarray(np.full((size.height * 3 // 2, size.width), 128, np.uint8), "nv12")
    packets = []
    for frame.pts in range(2):
        packets += [bytes(packet) for packet in context.encode(frame)]
    key, other = packets
    return key, other


def _open_x264(size: Size, fps: int) -> Any:
    context = av.CodecContext.create("libx264", "w")
    context.width, context.height, context.pix_fmt = size.width, size.height, "nv12"
    context.time_base = Fraction(1, fps)
    context.thread_count = 1
    # Nearly lossless, and no description of the colours: that must come from somewhere else.
    context.options = {"preset": "ultrafast", "tune": "zerolatency", "qp": "4", "bf": "0", "forced-idr": "1"}
    return context
