"""One decoder of PyNvVideoCodec, and the pictures that it gives as arrays of our device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from livefusion.core.errors import DeviceError
from livefusion.devices.device import Array, Device, Stream
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.nvcodec.module import reason_of

_MOST_SURFACES = 64
"""Places that pictures were found at and may be found at again: a decoder has few."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A decoded picture in the decoder's own memory, which the next ``decode`` writes anew.

    ``luma`` (h, w) and ``chroma`` (⌈h/2⌉, ⌈w/2⌉, 2) are uint8 arrays of the device, valid for what is put on
    the decoder's stream before that. ``number`` is that of the packet that brought it.
    """

    number: int
    luma: Array
    chroma: Array


class DecoderSession:
    """NVDEC for one stream of one size. Work is put on ``stream``, in the GPU's primary context.

    With ``reordered`` pictures it holds four back, and with others none.
    """

    def __init__(
        self, codecs: Codecs, device: Device, codec: str, stream: Stream, *, reordered: bool
    ) -> None:
        self._device = device
        self._stream = stream
        self._module = module = codecs.module
        latency = module.DisplayDecodeLatencyType
        self._reordered = reordered
        self._adopted: dict[Any, Array] = {}
        # At the end of a picture the parser need not wait for the next one's start to know that it is whole.
        self._flag = 0 if reordered else int(module.VideoPacketFlag.ENDOFPICTURE)
        try:
            self._decoder = module.CreateDecoder(
                gpuid=codecs.gpu,
                codec=getattr(module.cudaVideoCodec, codec.upper()),
                cudacontext=0,
                cudastream=stream.handle,
                usedevicememory=True,
                latency=latency.NATIVE if reordered else latency.LOW,
            )
        except Exception as error:  # its exceptions have no common base that is known before it is loaded
            raise DeviceError(f"NVDEC does not open ({reason_of(str(error))})") from error

    @property
    def reordered(self) -> bool:
        """Whether it puts pictures into order that are stored out of it."""
        return self._reordered

    def decode(self, data: Any, number: int) -> Sequence[Surface]:
        """The pictures that a packet completes; ``data`` is any buffer of bytes.

        ``DeviceError`` if the decoder refuses it.
        """
        memory = np.frombuffer(data, np.uint8)
        packet = self._module.PacketData()
        packet.bsl_data, packet.bsl = memory.ctypes.data, memory.size
        packet.pts = packet.dts = number
        packet.decode_flag = self._flag
        return self._run(packet)

    def drain(self) -> Sequence[Surface]:
        """The pictures that are still inside; after that only ``close`` may follow."""
        packet = self._module.PacketData()
        packet.decode_flag = int(self._module.VideoPacketFlag.ENDOFSTREAM)
        return self._run(packet)

    def close(self) -> None:
        """Wait until its memory is read, then give it back."""
        self._stream.synchronize()
        self._decoder = None
        self._adopted.clear()

    def _run(self, packet: Any) -> Sequence[Surface]:
        try:
            frames = self._decoder.Decode(packet)
            return [self._surface(frame) for frame in frames]
        except Exception as error:  # the same
            raise DeviceError(f"NVDEC fails ({reason_of(str(error))})") from error

    def _surface(self, frame: Any) -> Surface:
        if frame.format != self._module.Pixel_Format.NV12:
            raise DeviceError(f"NVDEC gives {frame.format} instead of NV12")
        luma, chroma = (view.__cuda_array_interface__ for view in frame.cuda())
        return Surface(frame.getPTS(), self._adopt(luma, axes=2), self._adopt(chroma, axes=3))

    def _adopt(self, view: Any, *, axes: int) -> Array:
        """The memory that a view describes; that of luma has a third axis of length one."""
        place = view["data"][0], tuple(view["shape"])[:axes], tuple(view["strides"])[:axes], view["typestr"]
        array = self._adopted.get(place)
        if array is None:
            if len(self._adopted) >= _MOST_SURFACES:
                self._adopted.clear()
            array = self._adopted[place] = self._device.adopt(*place)
        return array
