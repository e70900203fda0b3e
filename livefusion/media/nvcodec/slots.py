"""From surfaces of the decoder into slots of our own."""

from livefusion.core.errors import InputError
from livefusion.devices.device import Array, Device, Stream
from livefusion.devices.pool import DeviceBuffer, FramePool
from livefusion.media.decode.layout import Layout
from livefusion.media.nvcodec.session import Surface
from livefusion.ops.registry import TURN_NV12


class SurfaceSlots:
    """Copies surfaces, upright and of even size, into a pool of up to ``pictures`` slots.

    The work is put on the decoder's stream, so it comes before the next picture overwrites the surface.
    """

    def __init__(self, device: Device, stream: Stream, layout: Layout, pictures: int) -> None:
        self._device = device
        self._stream = stream
        self._layout = layout
        self._pool = FramePool(device, layout.size, limit=pictures)
        if not layout.orientation.upright:
            device.prepare(TURN_NV12)

    @property
    def layout(self) -> Layout:
        """What the pictures are like."""
        return self._layout

    def copy(self, surface: Surface) -> DeviceBuffer:
        """A slot with the picture, ready after the stream's work; ``InputError`` if it is too small."""
        width, height = self._layout.stored.even.width, self._layout.stored.even.height
        luma, chroma = surface.luma[:height, :width], surface.chroma[: height // 2, : width // 2]
        if luma.shape != (height, width):
            raise InputError(f"NVDEC gives a picture that is smaller than {self._layout.stored}")
        buffer = self._pool.acquire(self._stream)
        try:
            self._fill(buffer, luma, chroma)
        finally:
            # The pool must hear of what is on the stream even if the rest of it could not be put there.
            buffer = buffer.after(self._stream.record())
        return buffer

    def _fill(self, buffer: DeviceBuffer, luma: Array, chroma: Array) -> None:
        turn = self._layout.orientation
        if turn.upright:
            self._device.copy(buffer.luma, luma, self._stream)
            self._device.copy(buffer.chroma, chroma, self._stream)
            return
        arguments = {
            "luma": luma,
            "chroma": chroma,
            "out_luma": buffer.luma,
            "out_chroma": buffer.chroma,
            "transpose": turn.transpose,
            "mirror_x": turn.mirror_x,
            "mirror_y": turn.mirror_y,
        }
        self._device.launch(TURN_NV12, arguments, self._stream)
