"""What the operators mean, against numbers from outside: the definitions cannot be wrong in silence."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.color import ColorInfo, Matrix, Range, Siting
from livefusion.core.geometry import Affine, Region, Size
from livefusion.devices.device import BodyKind
from livefusion.ops.fit import centred_region, letterbox_affine, letterbox_scale, letterbox_size
from livefusion.ops.registry import (
    BLEND_YUVA,
    BLUR_REGION,
    LETTERBOX_NV12,
    NV12_TO_RGB,
    NV12_WARP_NORM,
    RGB_TO_NV12,
    SCALE_NV12,
)

pytestmark = pytest.mark.unit

Array = np.ndarray[Any, Any]
every_body = pytest.mark.parametrize("kind", ["reference", "cpu"])

RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)

# Published code values of the primaries (ITU-R BT.601, BT.709, BT.2020; JFIF for full range).
KNOWN = [
    (Matrix.BT709, Range.LIMITED, RED, (63, 102, 240)),
    (Matrix.BT709, Range.LIMITED, GREEN, (173, 42, 26)),
    (Matrix.BT709, Range.LIMITED, BLUE, (32, 240, 118)),
    (Matrix.BT709, Range.LIMITED, WHITE, (235, 128, 128)),
    (Matrix.BT709, Range.LIMITED, BLACK, (16, 128, 128)),
    (Matrix.BT601, Range.LIMITED, RED, (81, 90, 240)),
    (Matrix.BT601, Range.LIMITED, GREEN, (145, 54, 34)),
    (Matrix.BT601, Range.LIMITED, BLUE, (41, 240, 110)),
    (Matrix.BT601, Range.FULL, RED, (76, 85, 255)),
    (Matrix.BT601, Range.FULL, GREEN, (150, 44, 21)),
    (Matrix.BT601, Range.FULL, BLUE, (29, 255, 107)),
    (Matrix.BT601, Range.FULL, WHITE, (255, 128, 128)),
    (Matrix.BT2020, Range.LIMITED, RED, (74, 97, 240)),
    (Matrix.BT2020, Range.LIMITED, GREEN, (164, 47, 25)),
    (Matrix.BT2020, Range.LIMITED, BLUE, (29, 240, 119)),
]


def flat(yuv: tuple[int, int, int], width: int = 8, height: int = 6) -> tuple[Array, Array]:
    luma = np.full((height, width), yuv[0], np.uint8)
    return luma, np.full((height // 2, width // 2, 2), yuv[1:], np.uint8)


def smooth_rgb(width: int = 64, height: int = 48) -> Array:
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([50 + 2 * x, 40 + 3 * y, 200 - x - y], axis=-1).astype(np.uint8)


def to_nv12(rgb: Array, color: ColorInfo, kind: BodyKind = "reference") -> tuple[Array, Array]:
    height, width = rgb.shape[:2]
    luma, chroma = flat((0, 0, 0), width, height)
    RGB_TO_NV12.body(kind)(rgb=rgb, luma=luma, chroma=chroma, color=color)
    return luma, chroma


def to_rgb(luma: Array, chroma: Array, color: ColorInfo, kind: BodyKind = "reference") -> Array:
    rgb = np.zeros((*luma.shape, 3), np.uint8)
    NV12_TO_RGB.body(kind)(luma=luma, chroma=chroma, rgb=rgb, color=color)
    return rgb


@every_body
@pytest.mark.parametrize(("matrix", "span", "rgb", "yuv"), KNOWN)
def test_known_colours(
    kind: BodyKind, matrix: Matrix, span: Range, rgb: tuple[int, int, int], yuv: tuple[int, int, int]
) -> None:
    color = ColorInfo(matrix, span)
    luma, chroma = to_nv12(np.full((6, 8, 3), rgb, np.uint8), color, kind)
    assert (luma[0, 0], *chroma[0, 0]) == yuv
    assert np.ptp(luma) == 0
    assert np.abs(to_rgb(*flat(yuv), color, kind)[0, 0].astype(int) - rgb).max() <= 2


@every_body
@pytest.mark.parametrize(("siting", "at_zero", "at_five"), [(Siting.LEFT, 0, 25), (Siting.CENTRE, 0, 22.5)])
def test_chroma_lies_where_its_siting_says(
    kind: BodyKind, siting: Siting, at_zero: float, at_five: float
) -> None:
    """A ramp of 10 a sample is 5 a pixel; centred samples lie half a pixel further right."""
    luma, chroma = flat((128, 128, 128), 16, 4)
    chroma[..., 1] = 128 + 10 * np.arange(8)
    color = ColorInfo(Matrix.BT601, Range.FULL, siting=siting)
    red = to_rgb(luma, chroma, color, kind)[2, :, 0].astype(float) - 128
    assert red[0] == pytest.approx(1.402 * at_zero, abs=0.6)
    assert red[5] == pytest.approx(1.402 * at_five, abs=0.6)


@every_body
@pytest.mark.parametrize("siting", list(Siting))
def test_there_and_back_is_nearly_the_same(kind: BodyKind, siting: Siting) -> None:
    color, rgb = ColorInfo(siting=siting), smooth_rgb()
    back = to_rgb(*to_nv12(rgb, color, kind), color, kind)
    # The border has no neighbour to interpolate with.
    assert np.abs(back.astype(int) - rgb)[2:-2, 2:-2].max() <= 3


@every_body
def test_warp_by_identity_is_conversion(kind: BodyKind) -> None:
    color = ColorInfo()
    luma, chroma = to_nv12(smooth_rgb(), color)
    out = np.zeros((1, 48, 64, 3), np.float32)
    identity = Affine([[1, 0, 0], [0, 1, 0]])
    NV12_WARP_NORM.body(kind)(
        luma=luma, chroma=chroma, out=out, matrices=[identity], color=color, layout="hwc"
    )
    assert np.abs(out[0] - to_rgb(luma, chroma, color)).max() <= 2


@every_body
def test_warp_maps_source_to_destination(kind: BodyKind) -> None:
    luma, chroma = flat((16, 128, 128), 40, 30)
    luma[12, 20] = 235
    out = np.zeros((2, 3, 20, 20), np.float32)
    NV12_WARP_NORM.body(kind)(
        luma=luma,
        chroma=chroma,
        out=out,
        matrices=[Affine([[1, 0, -15], [0, 1, -9]]), Affine([[1, 0, -18], [0, 1, -2]])],
        color=ColorInfo(),
        mean=127.5,
        scale=1 / 127.5,
    )
    assert np.unravel_index(out[0, 1].argmax(), out[0, 1].shape) == (3, 5)
    assert np.unravel_index(out[1, 1].argmax(), out[1, 1].shape) == (10, 2)
    assert (out.max(), out.min()) == (pytest.approx(1), pytest.approx(-1))


KEEP, FLAT = Affine([[1, 0, 0], [0, 1, 0]]), Affine(np.zeros((2, 3)))


@every_body
@pytest.mark.parametrize(
    ("matrices", "message"),
    [([KEEP, FLAT], "singular"), ([KEEP], "1 maps cannot fill 2"), ([KEEP] * 3, "3 maps cannot fill 2")],
)
def test_maps_that_cannot_be_used_change_nothing(
    kind: BodyKind, matrices: list[Affine], message: str
) -> None:
    luma, chroma = flat((16, 128, 128))
    out = np.full((2, 3, 4, 4), np.nan, np.float32)
    with pytest.raises(ValueError, match=message):
        NV12_WARP_NORM.body(kind)(luma=luma, chroma=chroma, out=out, matrices=matrices, color=ColorInfo())
    assert np.isnan(out).all()


@every_body
def test_no_face_is_no_work(kind: BodyKind) -> None:
    luma, chroma = flat((16, 128, 128))
    out = np.zeros((0, 3, 4, 4), np.float32)
    NV12_WARP_NORM.body(kind)(luma=luma, chroma=chroma, out=out, matrices=(), color=ColorInfo())


@every_body
def test_letterbox_puts_pixels_where_its_map_says(kind: BodyKind) -> None:
    luma, chroma = flat((16, 128, 128), 160, 120)
    luma[40:56, 96:120] = 235
    out = np.full((3, 48, 96), np.nan, np.float32)
    LETTERBOX_NV12.body(kind)(luma=luma, chroma=chroma, out=out, color=ColorInfo())
    assert (out[:, :, 64:] == 0).all()
    rows, columns = np.nonzero(out[1] > 127)
    centre = letterbox_affine(Size(160, 120), Size(96, 48))(np.array([[107.5, 47.5]]))[0]
    assert (columns.mean(), rows.mean()) == (
        pytest.approx(centre[0], abs=0.5),
        pytest.approx(centre[1], abs=0.5),
    )


sides = st.integers(1, 4000)


@given(sides, sides, sides, sides)
def test_letterbox_geometry_holds_together(width: int, height: int, out_width: int, out_height: int) -> None:
    size, out_size = Size(width, height), Size(out_width, out_height)
    inner = letterbox_size(size, out_size)
    assert 1 <= inner.width <= out_width
    assert 1 <= inner.height <= out_height
    assert inner.width == out_width or inner.height == out_height
    assert abs(inner.width - width * letterbox_scale(size, out_size)) <= 1
    corners = letterbox_affine(size, out_size)(np.array([[-0.5, -0.5], [width - 0.5, height - 0.5]]))
    assert corners[:, 0] == pytest.approx([-0.5, inner.width - 0.5])
    rounded = 0.26 if height >= 4 * inner.height else 1e-6  # rows left over, and half a row
    assert corners[:, 1] == pytest.approx([-0.5, inner.height - 0.5], abs=rounded)


@pytest.mark.parametrize(
    ("size", "out_size", "region"),
    [
        (Size(1280, 720), Size(1920, 1080), Region(0, 0, 1920, 1080)),
        (Size(720, 1280), Size(1280, 720), Region(438, 0, 404, 720)),
        (Size(640, 480), Size(640, 360), Region(80, 0, 480, 360)),
        (Size(4000, 2), Size(64, 64), Region(0, 30, 64, 2)),
    ],
)
def test_centred_region(size: Size, out_size: Size, region: Region) -> None:
    assert centred_region(size, out_size) == region


@every_body
def test_blend_by_hand(kind: BodyKind) -> None:
    luma, chroma = flat((100, 50, 200), 2, 2)
    patch = np.array([[[200, 90, 10, 255], [200, 90, 10, 0]], [[0, 10, 90, 51], [200, 0, 0, 0]]], np.uint8)
    BLEND_YUVA.body(kind)(luma=luma, chroma=chroma, patch=patch, x=0, y=0)
    assert luma.tolist() == [[200, 100], [80, 100]]
    # Alpha sums to 306 of 1020: (50·714 + 255·90 + 51·10)/1020 = 58, (200·714 + 255·10 + 51·90)/1020 = 147
    assert chroma[0, 0].tolist() == [58, 147]


@every_body
@pytest.mark.parametrize(("x", "width"), [(1, 2), (0, 3)])
def test_blend_refuses_to_split_chroma(kind: BodyKind, x: int, width: int) -> None:
    luma, chroma = flat((0, 0, 0))
    with pytest.raises(ValueError, match="even"):
        BLEND_YUVA.body(kind)(luma=luma, chroma=chroma, patch=np.zeros((2, width, 4), np.uint8), x=x, y=0)


@every_body
def test_nothing_finer_than_a_cell_survives_the_blur(kind: BodyKind) -> None:
    """The result depends on the cell means alone: pixels may change places within their cell unnoticed."""
    rng = np.random.default_rng(0)
    luma, chroma = rng.integers(0, 256, (64, 64), np.uint8), rng.integers(0, 256, (32, 32, 2), np.uint8)
    turned = luma.reshape(8, 8, 8, 8)[:, ::-1, :, ::-1].reshape(64, 64).copy()
    turned_chroma = chroma.reshape(8, 4, 8, 4, 2)[:, ::-1, :, ::-1].reshape(32, 32, 2).copy()
    box = {"x": 0, "y": 0, "width": 64, "height": 64, "cells": 8}
    assert not np.array_equal(luma, turned)
    BLUR_REGION.body(kind)(luma=luma, chroma=chroma, **box)
    BLUR_REGION.body(kind)(luma=turned, chroma=turned_chroma, **box)
    assert np.array_equal(luma, turned)
    assert np.array_equal(chroma, turned_chroma)


@every_body
def test_blur_covers_its_whole_box_and_keeps_flat_pictures(kind: BodyKind) -> None:
    luma, chroma = flat((77, 90, 210), 64, 48)
    luma[10, 20] = luma[27, 43] = 255
    BLUR_REGION.body(kind)(luma=luma, chroma=chroma, x=20, y=10, width=24, height=18, feather=8)
    assert luma.max() < 100
    assert (chroma == (90, 210)).all()


@every_body
@pytest.mark.parametrize(
    "region", [Region(1, 0, 4, 4), Region(0, 0, 0, 4), Region(4, 4, 8, 2), Region(0, 0, 4, 8)]
)
def test_scaling_refuses_regions_that_do_not_fit(kind: BodyKind, region: Region) -> None:
    luma, chroma = flat((0, 0, 0))
    with pytest.raises(ValueError, match=r"even|within"):
        SCALE_NV12.body(kind)(luma=luma, chroma=chroma, out_luma=luma, out_chroma=chroma, region=region)
