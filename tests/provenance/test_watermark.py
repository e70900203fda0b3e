"""The payload, and the plane that is added to a picture."""

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.ops.cpu.plane import add_plane
from livefusion.provenance.watermark import (
    AMPLITUDE,
    UNIT,
    Payload,
    Watermark,
    WatermarkKey,
    crc8,
    mark_gains,
    mark_plane,
)

pytestmark = pytest.mark.unit

MARK = Watermark(WatermarkKey(b"0123456789abcdef", 7), Payload(0xABCD, 7))


def test_crc_is_the_standard_one() -> None:
    assert crc8(b"123456789") == 0xF4  # the check value of CRC-8/SMBUS


def test_the_secret_is_not_in_what_is_printed() -> None:
    assert "0123456789abcdef" not in repr(MARK)


@pytest.mark.parametrize("size", [Size(1280, 720), Size(854, 480), Size(50, 34), Size(2, 2)])
def test_the_plane_fits_the_picture_and_stays_small(size: Size) -> None:
    plane = mark_plane(MARK, size, 0)
    assert plane.shape == (size.height, size.width)
    assert 0 < np.abs(plane.astype(int)).max() <= AMPLITUDE * UNIT
    assert not np.array_equal(plane, mark_plane(MARK, size, 1)) or size == Size(2, 2)


def test_calm_and_dark_places_get_less() -> None:
    gains = mark_gains().astype(int)
    assert gains[0, 8] < gains[15, 8] == UNIT
    assert gains[3, 0] < gains[3, 8]
    assert gains.min() > 0


@pytest.mark.parametrize("spread", [0, 4, 60, 255])
def test_no_picture_loses_more_than_is_promised(spread: int) -> None:
    rng = np.random.default_rng(1)
    before = np.clip(128 + rng.integers(-spread, spread + 1, (720, 1280)), 0, 255).astype(np.uint8)
    after = before.copy()
    add_plane(after, mark_plane(MARK, Size(1280, 720), 5), mark_gains())
    error = np.mean((after.astype(float) - before) ** 2)
    assert 10 * np.log10(255**2 / error) >= 45
    assert np.abs(after.astype(int) - before).max() <= AMPLITUDE
