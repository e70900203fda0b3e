"""Boxes, regions and affine maps: the laws that the rest relies on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.geometry import Affine, Box, Region, Size

pytestmark = pytest.mark.unit

COORDINATES = st.floats(-5000, 5000, allow_nan=False)
LENGTHS = st.floats(0, 5000, allow_nan=False)
BOXES = st.builds(Box, COORDINATES, COORDINATES, LENGTHS, LENGTHS)
EVEN_SIZES = st.builds(lambda w, h: Size(2 * w, 2 * h), st.integers(1, 2000), st.integers(1, 2000))
SIMILARITIES = st.builds(
    Affine.similarity,
    st.floats(0.01, 100),
    st.floats(-math.pi, math.pi),
    st.tuples(COORDINATES, COORDINATES),
    st.tuples(COORDINATES, COORDINATES),
)


@pytest.mark.parametrize(
    ("size", "even"), [(Size(641, 359), Size(640, 358)), (Size(2, 2), Size(2, 2)), (Size(1, 1), Size(0, 0))]
)
def test_even_size(size: Size, even: Size) -> None:
    assert size.even == even
    assert str(size) == f"{size.width}x{size.height}"


@given(BOXES, EVEN_SIZES)
def test_a_clipped_box_lies_in_the_picture(box: Box, size: Size) -> None:
    clipped = box.clipped(size)
    assert 0 <= clipped.x <= clipped.right <= size.width + 1e-9
    assert 0 <= clipped.y <= clipped.bottom <= size.height + 1e-9


@given(BOXES, BOXES)
def test_iou_is_symmetric_and_within_bounds(one: Box, other: Box) -> None:
    assert one.iou(other) == other.iou(one)
    assert 0 <= one.iou(other) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("other", "iou"),
    [
        (Box(0, 0, 10, 10), 1.0),
        (Box(5, 0, 10, 10), 1 / 3),
        (Box(10, 0, 10, 10), 0.0),
        (Box(2, 2, 5, 5), 0.25),
        (Box(3, 3, 0, 0), 0.0),
    ],
)
def test_iou(other: Box, iou: float) -> None:
    assert Box(0, 0, 10, 10).iou(other) == pytest.approx(iou)


def test_iou_of_two_empty_boxes_is_zero() -> None:
    assert Box(1, 1, 0, 0).iou(Box(1, 1, 0, 0)) == 0


@given(BOXES, st.floats(0.1, 10))
def test_growing_keeps_the_centre_and_scales_the_area(box: Box, factor: float) -> None:
    grown = box.grown(factor)
    assert grown.centre == pytest.approx(box.centre, abs=1e-6)
    assert grown.area == pytest.approx(box.area * factor**2, rel=1e-6, abs=1e-9)


def test_box_around_points_ignores_depth() -> None:
    points = np.array([[3, 9, -50], [1, 4, 80], [2, 11, 0]], np.float32)
    assert Box.around(points) == Box(1, 4, 2, 7)


@given(BOXES, EVEN_SIZES, st.sampled_from((2, 8)))
def test_a_region_covers_its_box_with_whole_chroma_samples(box: Box, size: Size, step: int) -> None:
    region, clipped = Region.covering(box, size, step), box.clipped(size)
    assert all(edge % 2 == 0 for edge in (region.x, region.y, region.width, region.height))
    assert region.x % step == region.y % step == 0
    assert 0 <= region.x <= region.x + region.width <= size.width
    assert 0 <= region.y <= region.y + region.height <= size.height
    if not region.empty:
        assert region.x <= clipped.x
        assert region.y <= clipped.y
        assert region.x + region.width >= clipped.right
        assert region.y + region.height >= clipped.bottom


def test_region_indexes_both_planes() -> None:
    luma, chroma = np.zeros((8, 12)), np.zeros((4, 6, 2))
    region = Region(4, 2, 6, 4)
    assert luma[region.luma].shape == (4, 6)
    assert chroma[region.chroma].shape == (2, 3, 2)
    assert Region(4, 2, 0, 4).empty


@given(SIMILARITIES, st.tuples(COORDINATES, COORDINATES))
def test_inverse_takes_a_point_back(affine: Affine, point: tuple[float, float]) -> None:
    there_and_back = affine.inverse()(affine(np.array([point])))
    np.testing.assert_allclose(there_and_back, [point], atol=1e-4)


@given(SIMILARITIES, SIMILARITIES, st.tuples(COORDINATES, COORDINATES))
def test_after_is_one_map_then_the_other(second: Affine, first: Affine, point: tuple[float, float]) -> None:
    points = np.array([point])
    np.testing.assert_allclose(second.after(first)(points), second(first(points)), rtol=1e-6, atol=1e-3)


def test_similarity_turns_x_towards_y() -> None:
    quarter = Affine.similarity(2.0, math.pi / 2, source=(1.0, 1.0), to=(10.0, 20.0))
    np.testing.assert_allclose(quarter(np.array([[1.0, 1.0], [2.0, 1.0]])), [[10, 20], [10, 22]], atol=1e-12)


def test_an_affine_map_is_an_immutable_value() -> None:
    affine = Affine([[1, 0, 2], [0, 1, 3]])
    assert affine == Affine([[1, 0, 2], [0, 1, 3]])
    assert hash(affine) == hash(Affine([[1, 0, 2], [0, 1, 3]]))
    assert affine != "something else"
    with pytest.raises(ValueError, match="read-only"):
        affine.matrix[0, 0] = 5


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Affine(np.eye(3)), "2×3"),
        (lambda: Affine([[1, 1, 0], [1, 1, 0]]).inverse(), "singular"),
    ],
)
def test_what_is_no_affine_map(make: object, reason: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=reason):
        make()
