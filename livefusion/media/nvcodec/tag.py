"""What a bitstream says of its colours and the shape of its pixels, written into it afterwards."""

import logging
import re
from types import SimpleNamespace
from typing import Any

from av.bitstream import BitStreamFilterContext
from av.error import FFmpegError
from av.packet import Packet

from livefusion.core.color import Range
from livefusion.media.formats import OutputFormat
from livefusion.media.h273 import write_color
from livefusion.media.nvcodec.parameters import HEAD_BYTES

_KEY_SLICE = re.compile(rb"\x00\x00\x01[\x05\x25\x45\x65]")
_log = logging.getLogger(__name__)


class Tagger:
    """Puts the colour description and the pixel aspect of an output into the parameter sets of H.264.

    PyNvVideoCodec has no arguments for them, and players would guess. Only packets that begin with parameter
    sets need to pass.
    """

    def __init__(self, output: OutputFormat) -> None:
        codes = SimpleNamespace()
        write_color(codes, output.color)
        aspect = output.pixel_aspect
        fields = {
            "colour_primaries": codes.color_primaries,
            "transfer_characteristics": codes.color_trc,
            "matrix_coefficients": codes.colorspace,
            "video_full_range_flag": int(output.color.range is Range.FULL),
            "sample_aspect_ratio": f"{aspect.numerator}/{aspect.denominator}",
        }
        description = ":".join(f"{name}={value}" for name, value in fields.items())
        self._filter = BitStreamFilterContext(f"h264_metadata={description}", "h264")
        self._heads = (b"", b"")

    def tag(self, data: bytes) -> Any:
        """An ``av.Packet`` of the data with the description in it; without, if it cannot be understood."""
        # The sets hardly ever change, and the filter takes 0.1 ms for a picture that it leaves as it is.
        start, (head, tagged) = _picture_start(data), self._heads
        if head and tagged and data[:start] == head:
            return Packet(tagged + data[start:])
        packet = self._filtered(data)
        self._heads = data[:start], _head_of(packet, data[start:])
        return packet

    def _filtered(self, data: bytes) -> Any:
        try:
            [packet] = self._filter.filter(Packet(data))
        except (FFmpegError, ValueError) as error:
            _log.warning("the colours of the output are not described in it: %s", error)
            return Packet(data)
        return packet


def _picture_start(data: bytes) -> int:
    """Where the first slice of a key frame begins; 0 if there is none near the head."""
    match = _KEY_SLICE.search(data, 0, HEAD_BYTES)
    return match.start() if match else 0


def _head_of(packet: Any, picture: bytes) -> bytes:
    """What a packet has before the picture; empty if the picture is not what ends it."""
    data = bytes(packet)
    return data[: -len(picture)] if picture and data.endswith(picture) else b""
