"""H.264 by NVENC, from slots of the device."""

import logging
from collections import deque
from collections.abc import Sequence
from typing import Any

from av.packet import Packet

from livefusion.core.errors import DeviceError, GraphError
from livefusion.core.frame import Buffer, Frame
from livefusion.devices.device import Device
from livefusion.media.encode.keyframes import KeyframeClock
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.nvcodec.fit import DeviceFitter
from livefusion.media.nvcodec.module import reason_of
from livefusion.media.nvcodec.planes import Picture
from livefusion.media.nvcodec.settings import bitrate_for, encoder_arguments, rate_arguments
from livefusion.media.nvcodec.tag import Tagger

_log = logging.getLogger(__name__)

_IDR = 3
"""``NV_ENC_PIC_TYPE_IDR``."""
_LONGEST_DELAY = 16
"""Pictures to give an encoder that gives nothing back, to learn how late it is."""


class NvencEncoder:
    """Constant bitrate, no B-frames, no look-ahead; the pixels stay on the GPU.

    PyNvVideoCodec 2.2.4 makes each packet at once, but hands it over three pictures later: its constructor of
    the encoder says so, and no argument changes it. Where that is too late the encoder is flushed behind each
    picture, which NVENC allows in the middle of a stream; that it then goes on, and does not begin anew with
    a key frame, is looked at too.

    ``late`` is how many pictures it may hold back: 0 for a live output. Each frame is looked at for that.
    ``bitrate`` in bits a second is that of ``settings.bitrate_for`` if left out.
    """

    def __init__(self, codecs: Codecs, device: Device, *, late: int = 0, bitrate: int | None = None) -> None:
        self._codecs = codecs
        self._device = device
        self._late = late
        self._bitrate = bitrate
        self._stream = device.stream("encode")
        self._session: Any = None

    @property
    def codec(self) -> str:
        """``h264``."""
        return "h264"

    @property
    def bitrate(self) -> int:
        """Bits a second that are aimed at; 0 before ``open``."""
        return self._bitrate or 0

    @property
    def delay(self) -> int:
        """Pictures that it holds back just now."""
        return len(self._times)

    def open(self, output: OutputFormat) -> None:
        """Start a session. ``DeviceError`` if the GPU has no encoder, none for the size, or none left."""
        refusal = self._codecs.capabilities.encoder_refusal(output.size)
        if refusal:
            raise DeviceError(refusal)
        self._output = output
        self._rate = max(1, round(output.fps))
        self._bitrate = self._bitrate or bitrate_for(output.size, output.fps)
        self._fitter = DeviceFitter(self._device, output, self._stream)
        self._tagger = Tagger(output)
        self._keyframes = KeyframeClock()
        self._times: deque[int] = deque()
        flags = self._codecs.module.NV_ENC_PIC_FLAGS
        self._key_flags = int(flags.FORCEIDR) | int(flags.OUTPUT_SPSPPS)
        self._session = self._create_session()

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        """The one packet of a frame, or of one ``late`` frames before.

        ``GraphError`` if it comes later than allowed, ``DeviceError`` if the encoder fails.
        """
        if frame.buffer.home is not self._device:
            raise DeviceError(f"the picture lies on {frame.buffer.device}, not on {self._device.name}")
        ts = frame.ts.rescale(self._output.time_base)
        flags = self._key_flags if self._keyframes.is_key(ts, wanted=keyframe) else 0
        buffer = self._fitter.fit(frame)
        packets = self._take(buffer, flags, ts.pts)
        if len(self._times) > self._late:
            packets = [*packets, *self._flush_behind(flags)]
        if len(self._times) > self._late:
            delay = self._measure_delay(buffer)
            raise GraphError(f"NVENC gives a packet {delay} pictures late, and {self._late} are allowed")
        return packets

    def set_bitrate(self, bits: int) -> None:
        """Aim at another bitrate from the next frame on; the session goes on if the driver lets it."""
        if bits == self._bitrate:
            return
        self._bitrate = bits
        if self._session is None:
            return
        try:
            done = self._reconfigure(bits)
        except Exception as error:  # PyNvVideoCodec's exceptions have no common base
            _log.debug("NVENC keeps its bitrate: %s", reason_of(str(error)))
            done = False
        if not done:
            _log.info("NVENC starts again with %d bits a second", bits)
            self._restart()

    def flush(self) -> Sequence[Any]:
        """The packets that are still inside."""
        return self._packets(self._end_encode())

    def close(self) -> None:
        """End the session."""
        self._session = None

    def _create_session(self) -> Any:
        size = self._output.size
        arguments = encoder_arguments(
            self._output.fps, self.bitrate, gpu=self._codecs.gpu, stream=self._stream.handle
        )
        try:
            return self._codecs.module.CreateEncoder(size.width, size.height, "NV12", False, **arguments)
        except Exception as error:  # the same; most often all sessions that the driver allows are taken
            reason = reason_of(str(error))
            raise DeviceError(f"NVENC does not open, perhaps because too many use it ({reason})") from error

    def _restart(self) -> None:
        lost = len(self._times)
        self._times.clear()
        if lost:
            _log.warning("%d pictures that were inside NVENC are lost", lost)
        self.close()
        self._session = self._create_session()
        self._keyframes = KeyframeClock()

    def _reconfigure(self, bits: int) -> bool:
        rates = rate_arguments(bits, self._rate)
        parameters = self._session.GetEncodeReconfigureParams()
        parameters.averageBitrate = rates["bitrate"]
        parameters.maxBitRate = rates["maxbitrate"]
        parameters.vbvBufferSize = rates["vbvbufsize"]
        parameters.vbvInitialDelay = rates["vbvinit"]
        return bool(self._session.Reconfigure(parameters))

    def _take(self, buffer: Buffer, flags: int, pts: int) -> Sequence[Any]:
        """Hand a picture over that shall come out again; one that is refused is not inside."""
        self._times.append(pts)
        try:
            return self._packets(self._encode(buffer, flags))
        except DeviceError:
            self._times.pop()
            raise

    def _encode(self, buffer: Buffer, flags: int) -> Sequence[Any]:
        """Hand a picture over; it is copied on the encoder's stream, which the slot's next user waits for."""
        try:
            return list(self._session.Encode(Picture(buffer.luma, buffer.chroma), flags))
        except Exception as error:  # the same
            raise DeviceError(f"NVENC fails ({reason_of(str(error))})") from error
        finally:
            buffer.read_until(self._stream.record(), self._stream)

    def _flush_behind(self, flags: int) -> Sequence[Any]:
        """The packet of the picture that was just handed over, if flushing brings it."""
        encoded = self._end_encode()
        if not flags and any(one["picture_type"] == _IDR for one in encoded):
            raise GraphError("NVENC begins anew when it is asked for each packet at once")
        return self._packets(encoded)

    def _end_encode(self) -> Sequence[Any]:
        try:
            return list(self._session.EndEncode())
        except Exception as error:  # the same
            raise DeviceError(f"NVENC fails ({reason_of(str(error))})") from error

    def _packets(self, encoded: Sequence[Any]) -> Sequence[Any]:
        if len(encoded) > len(self._times):
            raise GraphError("NVENC gives more packets than it was given pictures")
        return [self._packet(one["data"], one["picture_type"] == _IDR) for one in encoded]

    def _packet(self, data: Any, is_key: bool) -> Any:
        packet = self._tagger.tag(bytes(data)) if is_key else Packet(bytes(data))
        packet.pts = packet.dts = self._times.popleft()
        packet.time_base = self._output.time_base
        packet.is_keyframe = is_key
        return packet

    def _measure_delay(self, buffer: Buffer) -> int:
        """How many pictures late the first packet comes; the session is of no use afterwards."""
        for delay in range(len(self._times), _LONGEST_DELAY):
            if self._encode(buffer, 0):
                return delay
        return _LONGEST_DELAY
