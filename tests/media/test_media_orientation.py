from typing import Any

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.media.decode.orientation import Orientation

pytestmark = pytest.mark.unit

# (a, b, c, d) of the display matrix, what NumPy calls the same turn, degrees clockwise, mirrored.
WAYS = [
    ((1, 0, 0, 1), lambda p: p, 0, False),
    ((0, 1, -1, 0), lambda p: np.rot90(p, -1), 90, False),
    ((-1, 0, 0, -1), lambda p: np.rot90(p, 2), 180, False),
    ((0, -1, 1, 0), lambda p: np.rot90(p, 1), 270, False),
    ((-1, 0, 0, 1), lambda p: p[:, ::-1], 0, True),
    ((1, 0, 0, -1), lambda p: p[::-1], 180, True),
    ((0, 1, 1, 0), lambda p: np.swapaxes(p, 0, 1), 90, True),
    ((0, -1, -1, 0), lambda p: np.swapaxes(np.rot90(p, 2), 0, 1), 270, True),
]


def matrix(a: float, b: float, c: float, d: float) -> list[list[float]]:
    return [[a, b, 0], [c, d, 0], [0, 0, 1]]


@pytest.mark.parametrize(("abcd", "turned", "rotation", "mirrored"), WAYS)
@pytest.mark.parametrize("channels", [(), (2,)])
def test_turns_a_plane_as_the_matrix_says(
    abcd: tuple[int, ...], turned: Any, rotation: int, mirrored: bool, channels: tuple[int, ...]
) -> None:
    plane = np.random.default_rng(1).integers(0, 256, (6, 10, *channels), np.uint8)
    orientation = Orientation.of_matrix(matrix(*abcd))
    size = orientation.size_of(Size(10, 6))
    out = np.zeros((size.height, size.width, *channels), np.uint8)

    orientation.turn(plane, out)

    np.testing.assert_array_equal(out, turned(plane))
    assert (orientation.rotation, orientation.mirrored) == (rotation, mirrored)


@pytest.mark.parametrize(("abcd", "turned", "rotation", "mirrored"), WAYS)
def test_rotation_then_mirror_describes_the_turn(
    abcd: tuple[int, ...], turned: Any, rotation: int, mirrored: bool
) -> None:
    plane = np.arange(12, dtype=np.uint8).reshape(3, 4)
    described = np.rot90(plane, -rotation // 90)

    np.testing.assert_array_equal(described[:, ::-1] if mirrored else described, turned(plane))


def test_a_slanted_matrix_goes_to_the_nearest_right_angle() -> None:
    angle = np.deg2rad(100)
    slanted = matrix(np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle))
    assert Orientation.of_matrix(slanted).rotation == 90


def test_writes_into_padded_rows() -> None:
    plane = np.random.default_rng(2).integers(0, 256, (4, 6), np.uint8)
    memory = np.zeros((6, 16), np.uint8)

    Orientation(transpose=True, mirror_x=True).turn(plane, memory[:, :4])

    np.testing.assert_array_equal(memory[:, :4], np.rot90(plane, -1))
    assert not memory[:, 4:].any()
