"""The stand-in for PyNvVideoCodec without the work: surfaces and packets that are always the same."""

from typing import Any

import numpy as np

from livefusion.core.geometry import Size
from livefusion.devices.device import Array, Device
from livefusion.media.nvcodec.capabilities import CODECS, Capabilities, Engine
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.testing.nvcodec import LARGEST, PacketData, StandInModule, VideoCodec
from livefusion.testing.nvdec import StandInFrame
from livefusion.testing.nvenc import FORCEIDR, IDR, encode_grey

_PICTURE = 0


class NullDecoder:
    """Gives one surface for each packet at once."""

    def __init__(self, module: StandInModule, surface: Array) -> None:
        self._module = module
        self._surface = surface

    def Decode(self, packet: PacketData) -> list[StandInFrame]:  # noqa: N802 - its name there
        """The surface, if there is a packet."""
        return [StandInFrame(self._module, self._surface, packet.pts)] if packet.bsl else []


class NullEncoder:
    """Gives a packet for each picture at once: a grey picture as a key frame, or as another."""

    def __init__(self, size: Size) -> None:
        self._key, self._other = encode_grey(size)

    def Encode(self, picture: Any, flags: int = 0) -> list[dict[str, Any]]:  # noqa: N802 - its name there
        """The packet."""
        is_key = bool(flags & FORCEIDR)
        data = self._key if is_key else self._other
        return [{"data": data, "timestamp": 0, "picture_type": IDR if is_key else _PICTURE}]

    def EndEncode(self) -> list[dict[str, Any]]:  # noqa: N802 - the same
        """Nothing is inside."""
        return []


class NullModule(StandInModule):
    """``size`` is that of all pictures."""

    def __init__(self, device: Device, size: Size) -> None:
        super().__init__(device)
        self._size = size
        self._surface = device.empty((size.height * 3 // 2, size.width), np.uint8)

    def CreateDecoder(self, **arguments: Any) -> Any:  # noqa: N802 - its name there
        """A decoder that does nothing."""
        assert arguments["codec"] is VideoCodec.H264
        return NullDecoder(self, self._surface)

    def CreateEncoder(self, *arguments: Any, **named: Any) -> Any:  # noqa: N802 - the same
        """An encoder that does nothing."""
        return NullEncoder(self._size)


def null_codecs(device: Device, size: Size) -> Codecs:
    """The engines of a GPU that does nothing at once."""
    engine = Engine(Size(2, 2), LARGEST)
    return Codecs(NullModule(device, size), 0, Capabilities(dict.fromkeys(CODECS, engine), engine))
