"""Cells and signs of the watermark: the same everywhere, balanced, and those of others look like chance."""

import hashlib

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.provenance.chips import (
    BITS,
    EPOCH_SECONDS,
    EPOCHS,
    Grid,
    epoch_at,
    grids_of,
    payload_carriers,
    presence_signs,
)

pytestmark = pytest.mark.unit

GRID = Grid(90, 160)


@pytest.mark.parametrize(
    ("width", "height", "grid"),
    [
        (1280, 720, Grid(90, 160)),
        (1920, 1080, Grid(90, 160)),
        (720, 1280, Grid(160, 90)),
        (854, 480, Grid(60, 107)),
        (640, 480, Grid(60, 80)),
        (640, 360, Grid(45, 80)),
        (160, 120, Grid(15, 20)),
        (2, 2, Grid(4, 4)),
    ],
)
def test_a_picture_has_as_many_cells_as_its_short_side_bears(width: int, height: int, grid: Grid) -> None:
    assert Grid.of(Size(width, height)) == grid
    assert grids_of(Size(width, height))[0] == grid


@pytest.mark.parametrize("size", [Size(854, 480), Size(640, 360), Size(1920, 1080), Size(426, 240)])
def test_a_picture_that_was_made_smaller_or_larger_is_looked_at_on_its_first_grid(size: Size) -> None:
    assert GRID in grids_of(size)


def test_signs_are_the_same_on_every_machine() -> None:
    digest = hashlib.sha256(presence_signs(GRID, 3).tobytes()).hexdigest()
    assert digest == "d6859f110364fd0bd84d400a95ec18b9775611148494f97a93b9049f37d13ef5"


def test_half_of_the_cells_are_public_and_balanced_and_the_others_are_the_payload() -> None:
    signs = presence_signs(GRID, 0).reshape(-1)
    carriers = payload_carriers(GRID, 0, b"secret")
    assert np.count_nonzero(signs) == len(signs) // 2
    assert abs(int(signs.sum())) < 5 * np.sqrt(len(signs) / 2)
    assert not signs[carriers.cells].any()
    assert len(carriers.cells) == len(signs) // 2
    counts = np.bincount(carriers.bits, minlength=BITS)
    assert counts.max() - counts.min() <= 1


def test_other_epochs_and_keys_have_nothing_in_common() -> None:
    for one, other in [(presence_signs(GRID, 0), presence_signs(GRID, 1))]:
        assert abs(float(np.sum(one.astype(int) * other))) < 5 * np.sqrt(one.size / 4)
    mine, theirs = (payload_carriers(GRID, 0, key) for key in (b"mine", b"theirs"))
    assert abs(float(np.sum(mine.signs.astype(int) * theirs.signs))) < 5 * np.sqrt(len(mine.signs))
    assert (mine.bits != theirs.bits).mean() > 0.9


@pytest.mark.parametrize(
    ("seconds", "epoch"),
    [(0, 0), (9.99, 0), (10, 1), (EPOCHS * EPOCH_SECONDS - 0.01, EPOCHS - 1), (EPOCHS * EPOCH_SECONDS, 0)],
)
def test_epochs_follow_media_time(seconds: float, epoch: int) -> None:
    assert epoch_at(seconds) == epoch
