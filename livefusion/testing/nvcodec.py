"""A stand-in for the module PyNvVideoCodec, on any of our devices, with the same traps.

It has the names, arguments and shapes of PyNvVideoCodec 2.2.4 that the product uses. Its decoder writes its
surfaces on the stream that it was given, later, and anew at every ``Decode``; its encoder reads a picture on
its stream, later. Real H.264 comes out, because FFmpeg does the work behind both.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from livefusion.core.geometry import Size
from livefusion.devices.device import Device, Stream
from livefusion.media.nvcodec.capabilities import CODECS, Capabilities, Engine
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.testing.nvdec import StandInDecoder
from livefusion.testing.nvenc import StandInEncoder

LARGEST = Size(4096, 4096)


class StandInError(Exception):
    """As ``PyNvVCException``: four lines, the third of which says what is wrong."""

    def __init__(self, reason: str, code: int = 20) -> None:
        super().__init__(f"PyNvStandIn : \nError code : {code}\nError Type : {reason}\nat /nowhere.cpp:1\n")


class UnsupportedError(StandInError):
    """As ``PyNvVCExceptionUnsupported``."""


class VideoPacketFlag(IntEnum):
    """Flags of a packet for the decoder."""

    ENDOFSTREAM = 1
    TIMESTAMP = 2
    DISCONTINUITY = 4
    ENDOFPICTURE = 8
    NOTIFY_EOS = 16


class Latency(IntEnum):
    """How long the decoder holds pictures back."""

    NATIVE = 0
    LOW = 1
    ZERO = 2


class PicFlags(IntEnum):
    """Flags of a picture for the encoder."""

    FORCEINTRA = 1
    FORCEIDR = 2
    OUTPUT_SPSPPS = 4
    EOS = 8


class PixelFormat(IntEnum):
    """Formats of surfaces."""

    NV12 = 3
    P016 = 5


class VideoCodec(IntEnum):
    """Codecs that the decoder is told."""

    MPEG2 = 1
    H264 = 4
    HEVC = 8
    VP9 = 10
    AV1 = 11


@dataclass(slots=True)
class PacketData:
    """A compressed picture: ``bsl`` bytes at the address ``bsl_data``."""

    bsl_data: int = 0
    bsl: int = 0
    pts: int = 0
    dts: int = 0
    decode_flag: int = 0
    key: int = 0


@dataclass(slots=True)
class Faults:
    """What goes wrong.

    ``sessions`` is how many encoders may be open at once, ``delay`` how many pictures the encoder holds back,
    ``decode_fails`` the numbers of the ``Decode`` calls that raise, counted over all decoders from 0, and
    ``encode_fails`` those of ``Encode``. ``no_decoder`` and ``no_reconfigure`` refuse those calls.
    ``EndEncode`` gives what is inside; with ``flush_restarts`` the next picture is then a key frame, and with
    ``no_flush`` it gives nothing before the end.
    """

    sessions: int = 8
    delay: int = 0
    decode_fails: frozenset[int] = frozenset()
    encode_fails: frozenset[int] = frozenset()
    no_decoder: bool = False
    no_reconfigure: bool = False
    flush_restarts: bool = False
    no_flush: bool = False


class StandInModule:
    """Takes the place of the module ``PyNvVideoCodec``."""

    PacketData = PacketData
    VideoPacketFlag = VideoPacketFlag
    DisplayDecodeLatencyType = Latency
    NV_ENC_PIC_FLAGS = PicFlags
    Pixel_Format = PixelFormat
    cudaVideoCodec = VideoCodec  # noqa: N815 - its name there
    PyNvVCException = StandInError
    PyNvVCExceptionUnsupported = UnsupportedError

    def __init__(self, device: Device, faults: Faults | None = None) -> None:
        self.device = device
        self.faults = faults or Faults()
        self.decoders: list[StandInDecoder] = []
        self.encoders: list[StandInEncoder] = []
        self.decoded = 0
        self.encoded = 0
        self.open_sessions = 0

    def CreateDecoder(  # noqa: N802 - its name there
        self,
        *,
        gpuid: int = 0,
        codec: VideoCodec = VideoCodec.H264,
        cudacontext: int = 0,
        cudastream: int = 0,
        usedevicememory: bool = False,
        latency: Latency = Latency.NATIVE,
    ) -> StandInDecoder:
        """A decoder that works on the stream with that handle."""
        if self.faults.no_decoder:
            raise UnsupportedError("Codec not supported on this GPU")
        if not usedevicememory:
            raise StandInError("host memory is not what this product wants")
        decoder = StandInDecoder(
            self, codec.name.lower(), self._stream(cudastream), held=_held(latency), low=latency > 0
        )
        self.decoders.append(decoder)
        return decoder

    def CreateEncoder(  # noqa: N802 - the same
        self, width: int, height: int, fmt: str, usecpuinputbuffer: bool, **arguments: Any
    ) -> StandInEncoder:
        """An encoder that works on the stream with that handle."""
        if self.open_sessions >= self.faults.sessions:
            raise StandInError("OpenEncodeSessionEx failed: out of memory", 10)
        if fmt != "NV12" or usecpuinputbuffer:
            raise UnsupportedError("Format not supported")
        stream = self._stream(arguments["cudastream"])
        encoder = StandInEncoder(self, Size(width, height), stream, arguments)
        self.encoders.append(encoder)
        return encoder

    def fail(self, reason: str) -> StandInError:
        """An exception as the module raises it."""
        return StandInError(reason)

    def _stream(self, handle: int) -> Stream:
        """The stream behind a handle; a device without handles runs everything at once."""
        finder = getattr(self.device, "stream_of", None)
        stream: Stream = finder(handle) if finder and handle else self.device.stream("codec")
        return stream


def stand_in_codecs(
    device: Device, faults: Faults | None = None, capabilities: Capabilities | None = None
) -> Codecs:
    """The engines of a GPU that does all that the product asks for, but for ``faults``."""
    engine = Engine(Size(2, 2), LARGEST)
    everything = Capabilities(dict.fromkeys(CODECS, engine), engine)
    return Codecs(StandInModule(device, faults), 0, capabilities or everything)


def _held(latency: Latency) -> int:
    return 4 if latency is Latency.NATIVE else 0
