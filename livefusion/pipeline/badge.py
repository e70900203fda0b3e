"""The badge on every picture that leaves the graph."""

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.patch import Patch
from livefusion.core.settings import BadgeText
from livefusion.devices.device import Device, Stream
from livefusion.ops.registry import BLEND_YUVA
from livefusion.provenance.badge import badge_patch


class BadgeStamp:
    """Draws the badge in place; its pixels are made once for each picture size, colour and text."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._patches: dict[tuple[Size, ColorInfo, BadgeText], Patch] = {}

    def stamp(self, frame: Frame, stream: Stream, text: BadgeText = BadgeText.ENGLISH) -> None:
        """Blend the badge into the frame's top right corner."""
        key = (frame.size, frame.color, text)
        if key not in self._patches:
            self._patches[key] = self._upload(badge_patch(*key), stream)
        patch = self._patches[key]
        self._device.launch(
            BLEND_YUVA,
            {
                "luma": frame.buffer.luma,
                "chroma": frame.buffer.chroma,
                "patch": patch.pixels,
                "x": patch.region.x,
                "y": patch.region.y,
            },
            stream,
        )

    def _upload(self, patch: Patch, stream: Stream) -> Patch:
        pixels = self._device.empty(patch.pixels.shape, patch.pixels.dtype)
        self._device.copy(pixels, patch.pixels, stream)
        return Patch(patch.region, pixels)
