"""How the numbers of a picture mean colours: matrix, range, transfer and chroma siting (ITU-T H.273)."""

from dataclasses import dataclass
from enum import StrEnum


class Matrix(StrEnum):
    """YCbCr matrix coefficients."""

    BT601 = "bt601"
    BT709 = "bt709"
    BT2020 = "bt2020"


class Range(StrEnum):
    """Quantisation range of 8-bit samples: luma 16–235 and chroma 16–240, or 0–255."""

    LIMITED = "limited"
    FULL = "full"


class Siting(StrEnum):
    """Where a 4:2:0 chroma sample lies: ``left`` (MPEG-2, H.264 default) or ``centre`` (JPEG, MPEG-1)."""

    LEFT = "left"
    CENTRE = "centre"


# (Kr, Kb) of H.273 table 4.
LUMA_WEIGHTS: dict[Matrix, tuple[float, float]] = {
    Matrix.BT601: (0.299, 0.114),
    Matrix.BT709: (0.2126, 0.0722),
    Matrix.BT2020: (0.2627, 0.0593),
}


@dataclass(frozen=True, slots=True)
class ColorInfo:
    """The colour description of a picture; ``transfer`` and ``primaries`` are H.273 names passed through."""

    matrix: Matrix = Matrix.BT709
    range: Range = Range.LIMITED
    transfer: str = "bt709"
    primaries: str = "bt709"
    siting: Siting = Siting.LEFT

    @staticmethod
    def guess(height: int) -> "ColorInfo":
        """What players assume of an untagged stream: BT.601 below 720 lines, BT.709 from there on."""
        if height < 720:
            return ColorInfo(matrix=Matrix.BT601, transfer="smpte170m", primaries="smpte170m")
        return ColorInfo()

    @property
    def luma_weights(self) -> tuple[float, float]:
        """(Kr, Kb) of the matrix."""
        return LUMA_WEIGHTS[self.matrix]

    @property
    def luma_offset(self) -> float:
        """The code value of black."""
        return 16.0 if self.range is Range.LIMITED else 0.0

    @property
    def luma_span(self) -> float:
        """Code values from black to white."""
        return 219.0 if self.range is Range.LIMITED else 255.0

    @property
    def chroma_span(self) -> float:
        """Code values across the whole chroma axis."""
        return 224.0 if self.range is Range.LIMITED else 255.0
