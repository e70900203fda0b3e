"""The decoder of the stand-in for PyNvVideoCodec: FFmpeg, with surfaces that are written late and anew."""

import ctypes
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import av
import numpy as np
from av.codec.context import Flags
from av.error import FFmpegError

from livefusion.core.color import ColorInfo
from livefusion.devices.device import Array, Stream
from livefusion.media.decode.planes import DecodedPlanes, PlaneReader
from livefusion.media.nvcodec.planes import Picture

if TYPE_CHECKING:
    from livefusion.testing.nvcodec import PacketData, StandInModule

ENDOFPICTURE = 8
_FREED = 0x5A
"""What memory holds when it is given back: somebody else's picture."""


class StandInFrame:
    """A decoded picture: planes in the decoder's memory, and the number of its packet."""

    def __init__(self, module: "StandInModule", surface: Array, number: int) -> None:
        self.format = module.Pixel_Format.NV12
        self.timestamp = number
        height = surface.shape[0] * 2 // 3
        chroma = surface[height:].reshape(height // 2, surface.shape[1] // 2, 2)
        self._picture = Picture(surface[:height], chroma)

    def cuda(self) -> list[Any]:
        """Luma and chroma with the CUDA array interface."""
        return list(self._picture.cuda())

    def getPTS(self) -> int:  # noqa: N802 - its name there
        """The pts that its packet had."""
        return self.timestamp


class StandInDecoder:
    """As ``PyNvDecoder``: ``Decode`` gives the pictures that came so far, less the ``held`` last ones.

    In low latency a picture without its end marked waits for the next packet.
    """

    def __init__(self, module: "StandInModule", codec: str, stream: Stream, *, held: int, low: bool) -> None:
        self._module = module
        self._stream = stream
        self._held = held
        self._low = low
        self._context: Any = av.CodecContext.create(codec, "r")
        self._context.thread_count, self._context.thread_type = 1, "SLICE"
        if low:
            self._context.flags |= Flags.low_delay
        self._reader = PlaneReader()
        self._inside: deque[Any] = deque()
        self._surfaces: list[Array] = []
        self._freed = threading.Event()

    def __del__(self) -> None:
        if hasattr(self, "_freed"):
            self._freed.set()
            noted = getattr(self._module.device, "host_write", None)
            for surface in self._surfaces:
                if noted is not None:
                    noted(surface)
                surface.fill(_FREED)

    def Decode(self, packet: "PacketData") -> list[StandInFrame]:  # noqa: N802 - its name there
        """The pictures that the packet completes, in surfaces that the next call writes anew."""
        call, self._module.decoded = self._module.decoded, self._module.decoded + 1
        if call in self._module.faults.decode_fails:
            raise self._module.fail("cuvidDecodePicture returned error 999")
        self._inside.extend(self._decode(packet))
        is_whole = not packet.bsl or packet.decode_flag & ENDOFPICTURE
        held = 0 if not packet.bsl else self._held + (self._low and not is_whole)
        ready = [self._inside.popleft() for _ in range(len(self._inside) - held)]
        return [self._show(index, picture) for index, picture in enumerate(ready)]

    def _decode(self, packet: "PacketData") -> list[Any]:
        if not packet.bsl:
            pictures: list[Any] = self._context.decode(None)
            return pictures
        data = av.Packet(ctypes.string_at(packet.bsl_data, packet.bsl))
        data.pts = packet.pts
        try:
            return list(self._context.decode(data))
        except FFmpegError:
            return []  # the chip conceals what it can and says nothing

    def _show(self, index: int, picture: Any) -> StandInFrame:
        height, width = picture.height + 1 & ~1, picture.width + 1 & ~1
        if len(self._surfaces) == index:
            self._surfaces.append(self._module.device.empty((height * 3 // 2, width), "uint8"))
        surface = self._surfaces[index]
        planes, freed = self._reader.read(picture, ColorInfo()), self._freed

        def write() -> None:
            if not freed.is_set():
                _write(planes, surface)

        self._module.device.run(write, self._stream, reads=(), writes=(surface,), name="nvdec")
        return StandInFrame(self._module, surface, picture.pts)


def _write(planes: DecodedPlanes, surface: Array) -> None:
    height = surface.shape[0] * 2 // 3
    rows, columns = planes.luma.shape
    np.copyto(surface[:rows, :columns], planes.luma)
    chroma = np.empty((rows // 2, columns // 2, 2), np.uint8)
    planes.write_chroma(chroma)
    surface[height:].reshape(height // 2, -1, 2)[: rows // 2, : columns // 2] = chroma
