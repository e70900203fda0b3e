"""The description of the colours is written into each key frame, whichever way it gets there."""

from fractions import Fraction

import pytest
from av.bitstream import BitStreamFilterContext

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec import tag
from livefusion.media.nvcodec.tag import Tagger
from livefusion.testing.nvenc import encode_grey

pytestmark = pytest.mark.media

OUTPUT = OutputFormat(Size(64, 48), Fraction(30), ColorInfo(), Fraction(1, 30))
SIZES = (Size(64, 48), Size(96, 48), Size(96, 48), Size(64, 48), Size(64, 48))


class CountingFilter:
    """The filter, which counts what goes through it."""

    used = 0

    def __init__(self, *arguments: str) -> None:
        self._filter = BitStreamFilterContext(*arguments)

    def filter(self, packet: tag.Packet) -> list[tag.Packet]:
        CountingFilter.used += 1
        return self._filter.filter(packet)


def test_each_key_frame_is_what_the_filter_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    key_frames = [encode_grey(size)[0] for size in SIZES]
    filtered = [bytes(Tagger(OUTPUT).tag(data)) for data in key_frames]
    assert filtered[0] != key_frames[0]
    monkeypatch.setattr(tag, "BitStreamFilterContext", CountingFilter)
    tagger = Tagger(OUTPUT)
    assert [bytes(tagger.tag(data)) for data in key_frames] == filtered
    assert CountingFilter.used == 3


def test_what_is_no_key_frame_passes() -> None:
    other = encode_grey(Size(64, 48))[1]
    assert bytes(Tagger(OUTPUT).tag(other)) == other
