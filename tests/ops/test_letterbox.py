"""A letterbox reads few rows of a large picture, and its map says where each of them goes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from op_case import body_of, picture

from livefusion.core.color import ColorInfo, Range
from livefusion.core.geometry import Size
from livefusion.devices.device import BodyKind
from livefusion.ops.fit import Rows, letterbox_affine, letterbox_rows, letterbox_size
from livefusion.ops.registry import LETTERBOX_NV12

pytestmark = pytest.mark.unit

Array = np.ndarray[Any, Any]
GREY = ColorInfo(range=Range.FULL)
every_body = pytest.mark.parametrize("kind", ["reference", "cpu", "cuda"])


def letterboxed(kind: BodyKind, luma: Array, chroma: Array, out_size: Size) -> Array:
    out = np.full((3, out_size.height, out_size.width), np.nan, np.float32)
    body_of(LETTERBOX_NV12, kind)(luma=luma, chroma=chroma, out=out, color=GREY)
    return out


@pytest.mark.parametrize(
    ("rows", "out_rows", "luma", "chroma"),
    [
        (480, 192, Rows(0, 1, 480), Rows(0, 1, 240)),
        (718, 180, Rows(0, 1, 718), Rows(0, 1, 359)),
        (720, 180, Rows(0, 2, 360), Rows(0, 2, 180)),
        (1080, 180, Rows(1, 3, 360), Rows(1, 3, 180)),
        (1088, 181, Rows(2, 3, 362), Rows(1, 3, 181)),
        (2160, 180, Rows(2, 6, 360), Rows(2, 6, 180)),
        (100, 200, Rows(0, 1, 100), Rows(0, 1, 50)),
        (2, 1, Rows(0, 1, 2), Rows(0, 1, 1)),
    ],
)
def test_every_nth_row_is_read(rows: int, out_rows: int, luma: Rows, chroma: Rows) -> None:
    assert letterbox_rows(rows, rows // 2, out_rows) == (luma, chroma)


sides = st.integers(1, 4000)


@given(sides, sides)
def test_rows_lie_in_the_middle_and_are_as_few_as_may_be(rows: int, out_rows: int) -> None:
    luma, chroma = letterbox_rows(2 * rows, rows, out_rows)
    for read, plane, least in ((luma, 2 * rows, 2 * out_rows), (chroma, rows, out_rows)):
        below = plane - 1 - (read.first + read.step * (read.count - 1))
        assert 0 <= read.first <= below <= read.first + 1
        assert read.first + below < 2 * read.step
        assert read.count >= min(least, plane)
        assert plane // (read.step + 1) < least


@every_body
@pytest.mark.parametrize("size", [(160, 98), (242, 146), (322, 194)], ids=str)
def test_other_rows_are_not_read(kind: BodyKind, size: tuple[int, int]) -> None:
    given = picture(np.random.default_rng(0), *size)
    spoilt = {name: 255 - plane for name, plane in given.items()}
    rows = letterbox_rows(size[1], size[1] // 2, 24)
    for (name, plane), read in zip(spoilt.items(), rows, strict=True):
        assert read.step > 1
        plane[read.slice] = given[name][read.slice]
    wanted, got = (letterboxed(kind, **planes, out_size=Size(40, 24)) for planes in (given, spoilt))
    assert np.array_equal(wanted, got)


@every_body
@pytest.mark.parametrize("height", [60, 72, 74, 76, 78, 80], ids=str)
@pytest.mark.parametrize("out_height", [12, 18], ids=str)
def test_a_gradient_is_where_the_map_says(kind: BodyKind, height: int, out_height: int) -> None:
    """To a sixteenth of an output pixel: half a row of the picture would be an eighth of it."""
    size, out_size = Size(4, height), Size(4, out_height)
    luma = np.repeat(3 * np.arange(height, dtype=np.uint8)[:, None], size.width, axis=1)
    chroma = np.full((height // 2, size.width // 2, 2), 128, np.uint8)
    values = letterboxed(kind, luma, chroma, out_size)[1, :, 0].astype(np.float64) / 3
    assert letterbox_size(size, out_size).height == out_height
    there = letterbox_affine(size, out_size)(np.stack([np.zeros(out_height), values], axis=1))[:, 1]
    assert np.abs(there - np.arange(out_height)).max() < 1 / 16
