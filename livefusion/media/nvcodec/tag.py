"""What a bitstream says of its colours and the shape of its pixels, written into it afterwards."""

import logging
from types import SimpleNamespace
from typing import Any

from av.bitstream import BitStreamFilterContext
from av.error import FFmpegError
from av.packet import Packet

from livefusion.core.color import Range
from livefusion.media.formats import OutputFormat
from livefusion.media.h273 import write_color

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

    def tag(self, data: bytes) -> Any:
        """An ``av.Packet`` of the data with the description in it; without, if it cannot be understood."""
        try:
            [packet] = self._filter.filter(Packet(data))
        except (FFmpegError, ValueError) as error:
            _log.warning("the colours of the output are not described in it: %s", error)
            return Packet(data)
        return packet
