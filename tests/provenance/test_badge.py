"""The badge can be read on every picture, and stays within it."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.geometry import Region, Size
from livefusion.core.settings import BadgeText
from livefusion.provenance import badge
from livefusion.provenance.badge import INK, PLATE, badge_patch, rgb_to_yuv, slate

pytestmark = pytest.mark.unit

SIZES = [Size(640, 360), Size(1280, 720), Size(1920, 1080), Size(360, 640), Size(320, 180)]
TINY = [Size(2, 2), Size(4, 2), Size(16, 16), Size(64, 64), Size(2, 200), Size(200, 2)]
COLORS = [ColorInfo(matrix=matrix, range=span) for matrix, span in product(Matrix, Range)]
Rgb = npt.NDArray[np.float64]


def luminance(rgb: Rgb) -> Rgb:
    """WCAG 2 relative luminance of sRGB values in [0, 1]."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    weighted: Rgb = linear @ np.array([0.2126, 0.7152, 0.0722])
    return weighted


def contrast(one: Rgb, other: Rgb) -> float:
    """WCAG 2 contrast ratio."""
    light, dark = sorted((float(luminance(one)), float(luminance(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", [0.0, 0.5, 1.0])
def test_text_stands_out_from_the_plate_on_any_ground(ground: float) -> None:
    plate = np.array(PLATE[:3]) / 255
    alpha = PLATE[3] / 255
    seen = plate * alpha + ground * (1 - alpha)
    assert contrast(np.array(INK[:3]) / 255, seen) >= 4.5


@pytest.mark.parametrize("text", BadgeText)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_badge_is_at_the_top_right_with_capitals_of_five_percent(size: Size, text: BadgeText) -> None:
    patch = badge_patch(size, ColorInfo(), text)
    region = patch.region
    assert patch.pixels.shape == (region.height, region.width, 4)
    assert region.x + region.width <= size.width
    assert region.x + region.width >= size.width * 0.9
    assert region.y + region.height <= size.height * 0.25
    ink = np.flatnonzero((patch.pixels[..., 0] > 110).any(axis=1))
    assert ink[-1] - ink[0] + 1 >= 0.05 * min(size.width, size.height)


@pytest.mark.parametrize(("text", "fewest"), [(BadgeText.ENGLISH, 8), (BadgeText.CHINESE, 3)])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_text_is_whole_and_smooth(size: Size, text: BadgeText, fewest: int) -> None:
    luma = badge_patch(size, ColorInfo(), text).pixels[..., 0]
    lit = luma > 100
    assert not lit[0].any()
    assert not lit[-1].any()
    assert not lit[:, 0].any()
    assert not lit[:, -1].any()
    columns = lit.any(axis=0).astype(np.int8)
    letters = np.count_nonzero(np.diff(columns) == 1)
    assert letters >= fewest  # of ten letters some touch, of four one pair
    assert np.unique(luma).size > 16  # edges in between, not two values alone


@pytest.mark.parametrize("size", SIZES + TINY, ids=str)
def test_badge_and_slate_fit_every_size_with_even_edges(size: Size) -> None:
    region = badge_patch(size, ColorInfo()).region
    assert all(edge % 2 == 0 for edge in (region.x, region.y, region.width, region.height))
    assert 0 <= region.x <= region.x + region.width <= size.width
    assert 0 <= region.y <= region.y + region.height <= size.height
    luma, chroma = slate(size, ColorInfo())
    assert luma.shape == (size.height, size.width)
    assert chroma.shape == (size.height // 2, size.width // 2, 2)
    assert luma.dtype == chroma.dtype == np.uint8


@pytest.mark.parametrize("color", COLORS, ids=lambda color: f"{color.matrix}-{color.range}")
def test_code_values_stay_in_range(color: ColorInfo) -> None:
    patch = badge_patch(Size(640, 360), color).pixels
    luma, chroma = slate(Size(640, 360), color)
    low, high = color.luma_offset, color.luma_offset + color.luma_span
    for plane in (patch[..., 0], luma):
        assert low <= plane.min() < plane.max() <= high
    assert np.abs(chroma.astype(int) - 128).max() < 12  # calm


@pytest.mark.parametrize("color", COLORS, ids=lambda color: f"{color.matrix}-{color.range}")
def test_conversion_meets_the_corners_of_h273(color: ColorInfo) -> None:
    corners = np.array([[[0, 0, 0], [255, 255, 255], [0, 0, 255], [255, 0, 0]]], np.uint8)
    black, white, blue, red = rgb_to_yuv(corners, color)[0]
    assert black.tolist() == [color.luma_offset, 128, 128]
    assert white.tolist() == [color.luma_offset + color.luma_span, 128, 128]
    assert blue[1] == min(255, round(128 + color.chroma_span / 2))
    assert red[2] == min(255, round(128 + color.chroma_span / 2))


def test_the_slate_shows_text_and_badge() -> None:
    size = Size(1280, 720)
    luma, _ = slate(size, ColorInfo())
    region = badge_patch(size, ColorInfo()).region
    assert luma[region.luma].max() > 200
    middle = luma[240:480]
    assert middle.max() > 180
    assert np.median(middle) < 60


@pytest.mark.parametrize("size", [Size(2, 2), Size(64, 64), Size(320, 240), Size(720, 1280)], ids=str)
@pytest.mark.parametrize("text", [badge.SLATE_TEXT, ""])
def test_a_slate_is_what_it_would_be_if_all_of_it_were_converted(
    monkeypatch: pytest.MonkeyPatch, size: Size, text: str
) -> None:
    in_parts = slate.__wrapped__(size, ColorInfo(), text)
    whole = Region(0, 0, size.width, size.height)
    monkeypatch.setattr(badge, "_difference_box", lambda picture, ground: whole)
    for part, plane in zip(in_parts, slate.__wrapped__(size, ColorInfo(), text), strict=True):
        assert np.array_equal(part, plane)


def test_badge_and_slate_are_made_once_and_cannot_be_spoilt() -> None:
    patch = badge_patch(Size(640, 360), ColorInfo())
    assert badge_patch(Size(640, 360), ColorInfo()) is patch
    with pytest.raises(ValueError, match="read-only"):
        patch.pixels[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        slate(Size(640, 360), ColorInfo())[0][0, 0] = 1
