"""Colour descriptions as FFmpeg and bitstreams number them (ITU-T H.273) to ``ColorInfo`` and back."""

from typing import Any

from livefusion.core.color import ColorInfo, Matrix, Range, Siting

_UNSPECIFIED = 2
_LIMITED_RANGE = 1
_FULL_RANGE = 2

_MATRIX_OF = {
    1: Matrix.BT709,
    4: Matrix.BT601,
    5: Matrix.BT601,
    6: Matrix.BT601,
    9: Matrix.BT2020,
    10: Matrix.BT2020,
}
_MATRIX_CODE = {Matrix.BT709: 1, Matrix.BT601: 6, Matrix.BT2020: 9}

_TRANSFER_NAMES = {
    1: "bt709",
    4: "gamma22",
    5: "gamma28",
    6: "smpte170m",
    7: "smpte240m",
    8: "linear",
    11: "iec61966-2-4",
    13: "iec61966-2-1",
    14: "bt2020-10",
    15: "bt2020-12",
    16: "smpte2084",
    17: "smpte428",
    18: "arib-std-b67",
}
_PRIMARIES_NAMES = {
    1: "bt709",
    4: "bt470m",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    8: "film",
    9: "bt2020",
    10: "smpte428",
    11: "smpte431",
    12: "smpte432",
    22: "ebu3213",
}
_TRANSFER_CODES = {name: code for code, name in _TRANSFER_NAMES.items()}
_PRIMARIES_CODES = {name: code for code, name in _PRIMARIES_NAMES.items()}

_SWSCALE_MATRIX = {Matrix.BT709: 1, Matrix.BT601: 5, Matrix.BT2020: 9}


def read_color(frame: Any, *, height: int, siting: Siting = Siting.LEFT) -> ColorInfo:
    """The colour description of an ``av.VideoFrame``; what it leaves unsaid is what players assume.

    ``height`` is that of the upright picture. RGB pictures have no matrix: they get the assumed one, limited
    range. The ``yuvj`` formats are full range whatever the tag says, and untagged grey is full range too.
    """
    guess = ColorInfo.guess(height)
    full = frame.color_range == _FULL_RANGE or frame.format.name.startswith("yuvj")
    full = full or (is_grey(frame) and frame.color_range != _LIMITED_RANGE)
    full = full and not is_rgb(frame)
    return ColorInfo(
        matrix=_MATRIX_OF.get(int(frame.colorspace), guess.matrix),
        range=Range.FULL if full else Range.LIMITED,
        transfer=_TRANSFER_NAMES.get(int(frame.color_trc), guess.transfer),
        primaries=_PRIMARIES_NAMES.get(int(frame.color_primaries), guess.primaries),
        siting=siting,
    )


def is_rgb(frame: Any) -> bool:
    """True if the samples of an ``av.VideoFrame`` are red, green and blue, or index such colours."""
    return bool(frame.format.is_rgb) or frame.format.name in ("pal8", "monow", "monob")


def is_grey(frame: Any) -> bool:
    """True if an ``av.VideoFrame`` has luma alone, with or without alpha."""
    return str(frame.format.name).startswith(("gray", "ya8", "ya16", "yaf"))


def write_color(target: Any, color: ColorInfo) -> None:
    """Put the description on an ``av.VideoFrame`` or an ``av.VideoCodecContext``."""
    target.colorspace = _MATRIX_CODE[color.matrix]
    target.color_range = range_code(color.range)
    target.color_trc = _TRANSFER_CODES.get(color.transfer, _UNSPECIFIED)
    target.color_primaries = _PRIMARIES_CODES.get(color.primaries, _UNSPECIFIED)


def range_code(value: Range) -> int:
    """``AVColorRange`` of a range."""
    return _FULL_RANGE if value is Range.FULL else _LIMITED_RANGE


def swscale_matrix(matrix: Matrix) -> int:
    """``SWS_CS_…`` of a matrix."""
    return _SWSCALE_MATRIX[matrix]
