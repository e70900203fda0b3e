"""Pictures of the device in the size and colours that an output was opened with."""

from livefusion.core.color import ColorInfo, Range
from livefusion.core.frame import Buffer, Frame
from livefusion.core.geometry import Size
from livefusion.devices.device import Array, Device, Stream
from livefusion.devices.pool import FramePool
from livefusion.media.formats import OutputFormat
from livefusion.ops.fit import centred_region
from livefusion.ops.registry import NV12_TO_RGB, RGB_TO_NV12, SCALE_NV12


class DeviceFitter:
    """Brings pictures into one size, with black bars where shapes differ, and into one matrix and range.

    Those that have them pass through untouched. The work is put on ``stream``.
    """

    def __init__(self, device: Device, output: OutputFormat, stream: Stream) -> None:
        self._device = device
        self._output = output
        self._stream = stream
        self._fitted = FramePool(device, output.size, limit=2)
        self._recolored: FramePool | None = None
        self._rgb: Array | None = None

    def fit(self, frame: Frame) -> Buffer:
        """The picture, to be read on the stream: the frame's own, or one to let go before the next call."""
        buffer, stream = frame.buffer, self._stream
        stream.wait(buffer.ready)
        fitted = buffer
        if not _same_codes(frame.color, self._output.color):
            fitted = self._recolor(fitted, frame)
        if frame.size != self._output.size:
            fitted = self._scale(fitted, frame.size)
        if fitted is not buffer:
            buffer.read_until(stream.record(), stream)
        return fitted

    def _scale(self, buffer: Buffer, size: Size) -> Buffer:
        target, black = self._fitted.acquire(self._stream), self._output.color.range
        arguments = {"luma": buffer.luma, "chroma": buffer.chroma}
        arguments |= {"out_luma": target.luma, "out_chroma": target.chroma}
        arguments["region"] = centred_region(size, self._output.size)
        arguments["background"] = (0 if black is Range.FULL else 16, 128, 128)
        self._device.launch(SCALE_NV12, arguments, self._stream)
        return target.after(self._stream.record())

    def _recolor(self, buffer: Buffer, frame: Frame) -> Buffer:
        """Through RGB, which costs a whole picture; only an input that changes its colours comes here."""
        size = frame.size
        if self._recolored is None or self._recolored.size != size:
            self._recolored = FramePool(self._device, size, limit=2)
            self._rgb = self._device.empty((size.height, size.width, 3), "uint8")
        target = self._recolored.acquire(self._stream)
        planes = {"luma": buffer.luma, "chroma": buffer.chroma, "rgb": self._rgb, "color": frame.color}
        self._device.launch(NV12_TO_RGB, planes, self._stream)
        planes |= {"luma": target.luma, "chroma": target.chroma, "color": self._output.color}
        self._device.launch(RGB_TO_NV12, planes, self._stream)
        return target.after(self._stream.record())


def _same_codes(color: ColorInfo, other: ColorInfo) -> bool:
    return color.matrix is other.matrix and color.range is other.range
