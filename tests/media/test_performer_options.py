from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.errors import InputError
from livefusion.core.geometry import Size
from livefusion.media.sources.performer_options import Occluder, PerformerOptions

pytestmark = pytest.mark.unit


def test_an_address_without_options_is_720p30_and_one_face() -> None:
    options = PerformerOptions.parse("performer:")
    assert options == PerformerOptions()
    assert (options.size, options.fps, options.faces, options.frames) == (Size(1280, 720), 30, 1, None)


def test_every_option_is_read() -> None:
    options = PerformerOptions.parse(
        "performer:?size=640x480&fps=30000/1001&face=90&faces=2&crossing=1&cut=90&occluder=bar&expression=0"
        "&turn=60&grain=0&seed=3&seconds=2&loop=4"
    )
    assert options == PerformerOptions(
        Size(640, 480), Fraction(30000, 1001), 90, 2, True, 90, Occluder.BAR, False, 60, 0, 3, 2.0, 4.0
    )
    assert options.frames == 60


@pytest.mark.parametrize(("size", "face"), [("1920x1080", 170), ("320x180", 90), ("64x64", 32)])
def test_the_face_fits_small_pictures_by_itself(size: str, face: int) -> None:
    assert PerformerOptions.parse(f"performer:?size={size}").face == face


def test_crossing_needs_two_people() -> None:
    assert PerformerOptions.parse("performer:?crossing=1").faces == 2


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("colour=red", "no option 'colour': it has size, fps, face, faces, crossing"),
        ("size=641x480", "even size"),
        ("size=12", "WxH"),
        ("size=32x32&face=24", "even size"),
        ("fps=0", "1 to 240"),
        ("fps=1/0", "1 to 240"),
        ("face=700", "face=24 to face=576"),
        ("face=10", "face=24"),
        ("faces=3", "1 or 2"),
        ("crossing=yes", "0 or 1"),
        ("crossing=", "0 or 1"),
        ("occluder=cat", "hand or bar"),
        ("cut=-1", "a number of frames"),
        ("seconds=nan", "0.1 to 86400"),
        ("size", "performer:?size=1280x720"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(query: str, says: str) -> None:
    with pytest.raises(InputError, match="performer:") as caught:
        PerformerOptions.parse(f"performer:?{query}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_address_is_not_the_performer() -> None:
    with pytest.raises(InputError):
        PerformerOptions.parse("camera:0")


@given(st.text(max_size=40))
def test_any_query_is_read_or_refused(query: str) -> None:
    try:
        options = PerformerOptions.parse(f"performer:{query}")
    except InputError:
        return
    assert options.size == options.size.even


@pytest.mark.parametrize("size", [Size(1920, 1080), None])
def test_a_wanted_format_wins(size: Size | None) -> None:
    options = PerformerOptions.parse("performer:?size=640x480", size=size, fps=Fraction(60))
    assert options.size == (size or Size(640, 480))
    assert options.fps == 60
