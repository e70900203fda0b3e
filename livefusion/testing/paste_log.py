"""A CPU device that notes where pictures are pasted into, region by region."""

from collections.abc import Mapping
from typing import Any

from livefusion.core.geometry import Region
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Operator, Stream
from livefusion.ops.registry import BLEND_MATCHED, BLEND_YUVA

_PASTES = BLEND_MATCHED.name, BLEND_YUVA.name


class PasteLog(CpuDevice):
    """Works like the CPU; ``frames`` holds, for each picture, the regions that were blended into it.

    A picture ends with its badge, which is blended last and is the last region of its list.
    """

    def __init__(self, badge: Region) -> None:
        self.frames: list[list[Region]] = [[]]
        self._badge = badge

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the operator now and note its region if it pastes into a picture."""
        super().launch(operator, arguments, stream)
        if operator.name not in _PASTES or arguments["luma"].shape == arguments["patch"].shape[:2]:
            return
        height, width = arguments["patch"].shape[:2]
        region = Region(arguments["x"], arguments["y"], width, height)
        self.frames[-1].append(region)
        if region == self._badge:
            self.frames.append([])
