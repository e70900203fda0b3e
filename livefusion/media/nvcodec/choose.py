"""Which decoder and encoder pictures of a device get, and what they stand in for."""

import logging
from collections.abc import Sequence
from typing import Any

from livefusion.core.errors import DeviceError, GraphError
from livefusion.core.frame import Frame
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.decode.packets import PacketDecoder, SoftwareDecoder
from livefusion.media.encode.ffmpeg_nvenc import NAME as NVENC_BY_FFMPEG
from livefusion.media.encode.ffmpeg_nvenc import FfmpegNvencEncoder
from livefusion.media.encode.keyframes import KEYFRAME_SECONDS
from livefusion.media.encode.sei import noted, notice_unit
from livefusion.media.encode.x264 import X264Encoder
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.capabilities import CODECS
from livefusion.media.nvcodec.codecs import Codecs, open_codecs
from livefusion.media.nvcodec.decoder import NvdecDecoder
from livefusion.media.nvcodec.encoder import NvencEncoder
from livefusion.media.nvcodec.settings import bitrate_for

_log = logging.getLogger(__name__)


def choose_decoder(
    stream: Any, device: Device, *, codecs: Codecs | None = None, pictures: int = 16
) -> PacketDecoder:
    """NVDEC for an ``av.VideoStream`` whose pictures are wanted on a GPU, else FFmpeg.

    ``codecs`` are the GPU's engines, asked for if left out.
    """
    return decoder_for(stream.codec_context, device, stream=stream, codecs=codecs, pictures=pictures)


def decoder_for(
    context: Any, device: Device, *, stream: Any = None, codecs: Codecs | None = None, pictures: int = 16
) -> PacketDecoder:
    """The same for packets of no container, in Annex B, by an ``av.CodecContext`` of their codec."""
    try:
        codecs = codecs or open_codecs(device)
    except DeviceError as error:
        return SoftwareDecoder(context, (Fallback("nvdec", "software", str(error)),))
    if codecs is None:
        return SoftwareDecoder(context)
    codec = context.codec.canonical_name  # AV1 has decoders of other names
    if codec not in CODECS:
        reason = f"NVDEC is not used for {codec}"
        return SoftwareDecoder(context, (Fallback("nvdec", "software", reason),))
    return NvdecDecoder(codecs, device, context, stream=stream, pictures=pictures)


class ChosenEncoder:
    """NVENC for pictures of a GPU that has one, by FFmpeg where PyNvVideoCodec cannot, else x264.

    Where NVENC fails later it is x264 from there.

    ``late`` is how many pictures NVENC may hold back: none for a live output, a few for a recording. What
    they were encoded to comes before the first packet of x264, unless it is lost with the GPU. ``ceiling`` is
    the most that it may need, in bits a second; ``keyframe_seconds`` is kept by x264 alone. Key frames carry
    the notice of the output's label.
    """

    def __init__(
        self,
        device: Device,
        *,
        codecs: Codecs | None = None,
        late: int = 0,
        ceiling: int | None = None,
        keyframe_seconds: int = KEYFRAME_SECONDS,
    ) -> None:
        self._device = device
        self._codecs = codecs
        self._late = late
        self._ceiling = ceiling
        self._keyframe_seconds = keyframe_seconds
        self._output: OutputFormat | None = None
        self._notice: bytes | None = None
        self._encoder: X264Encoder | NvencEncoder | FfmpegNvencEncoder = self._x264(device)
        self._rescued: Sequence[Any] = ()
        self._fallbacks: tuple[Fallback, ...] = ()

    @property
    def codec(self) -> str:
        """``h264``."""
        return self._encoder.codec

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Why it is x264 although the pictures are on a GPU."""
        return self._fallbacks

    def open(self, output: OutputFormat) -> None:
        """Open NVENC or x264. ``MachineError`` if both refuse."""
        self._output = output
        self._notice = None if output.label is None else notice_unit(output.label.notice)
        self._fallbacks, self._rescued = (), ()
        try:
            codecs = self._codecs or open_codecs(self._device)
            if codecs is None:
                self._encoder = self._x264(self._device)
                self._encoder.open(output)
                return
            nvenc = NvencEncoder(codecs, self._device, late=self._late, bitrate=self._aim(output))
            nvenc.open(output)
            self._encoder = nvenc
        except DeviceError as error:
            if not self._go_through_ffmpeg(error.problem, output):
                self._fall_back(error.problem, output)

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        """The packet of a frame."""
        try:
            return self._with_rescued(self._encoder.encode(frame, keyframe=keyframe))
        except (DeviceError, GraphError) as error:
            if isinstance(self._encoder, X264Encoder) or self._output is None:
                raise
            self._leave(self._encoder, error.problem, self._output)
            return self._with_rescued(self._encoder.encode(frame, keyframe=True))

    def flush(self) -> Sequence[Any]:
        """The packets that are still inside, as far as a GPU that was lost meanwhile still gives them."""
        try:
            return self._with_rescued(self._encoder.flush())
        except (DeviceError, GraphError) as error:
            if isinstance(self._encoder, X264Encoder) or self._output is None:
                raise
            self._leave(self._encoder, error.problem, self._output)
            return self._with_rescued(())

    def set_ceiling(self, ceiling: int) -> None:
        """Need no more than so many bits a second from the next frame on."""
        self._ceiling = ceiling
        if isinstance(self._encoder, X264Encoder):
            self._encoder.set_ceiling(ceiling)
        elif self._output is not None:
            aim = self._aim(self._output)
            assert aim is not None
            self._encoder.set_bitrate(aim)

    def close(self) -> None:
        """Close whichever encoder it was."""
        self._encoder.close()

    def _go_through_ffmpeg(self, reason: str, output: OutputFormat) -> bool:
        """The middle step: NVENC by FFmpeg, for a driver that is there where PyNvVideoCodec is not.

        Engines that were handed in are those of a stand-in, and none of FFmpeg's.
        """
        if self._codecs is not None:
            return False
        try:
            nvenc = FfmpegNvencEncoder(self._device, bitrate=self._aim(output))
            nvenc.open(output)
        except DeviceError as error:
            _log.debug("%s", error.problem)
            return False
        _log.warning("encoding by FFmpeg's %s, from host memory: %s", NVENC_BY_FFMPEG, reason)
        self._fallbacks = (Fallback("nvenc", NVENC_BY_FFMPEG, reason),)
        self._encoder = nvenc
        return True

    def _leave(self, nvenc: NvencEncoder | FfmpegNvencEncoder, reason: str, output: OutputFormat) -> None:
        try:
            self._rescued = nvenc.flush()
        except (DeviceError, GraphError):
            if isinstance(nvenc, NvencEncoder) and nvenc.delay:
                reason = f"{reason}; {nvenc.delay} pictures that were inside it are lost"
        nvenc.close()
        self._fall_back(reason, output)

    def _with_rescued(self, packets: Sequence[Any]) -> Sequence[Any]:
        if self._rescued:
            rescued, self._rescued = self._rescued, ()
            packets = [*rescued, *packets]
        if self._notice is None:
            return packets
        return [noted(packet, self._notice) for packet in packets]

    def _fall_back(self, reason: str, output: OutputFormat) -> None:
        _log.warning("encoding by x264 on the CPU: %s", reason)
        self._fallbacks = (*self._fallbacks, Fallback("nvenc", "x264", reason))
        # Nothing is asked of the device, which may be lost: x264 fetches pictures from wherever they lie.
        self._encoder = self._x264(CpuDevice())
        self._encoder.open(output)

    def _aim(self, output: OutputFormat) -> int | None:
        """What NVENC aims at: what suits the picture, within the ceiling."""
        return None if self._ceiling is None else min(self._ceiling, bitrate_for(output.size, output.fps))

    def _x264(self, device: Device) -> X264Encoder:
        return X264Encoder(device, ceiling=self._ceiling, keyframe_seconds=self._keyframe_seconds)
