"""What every body of the feather must hold, by hand."""

import numpy as np
import pytest

from livefusion.ops.registry import MASK_FEATHER

pytestmark = pytest.mark.unit

every_body = pytest.mark.parametrize("kind", ["reference", "cpu"])


@every_body
def test_an_edge_fades_inward_and_nothing_shows_more(kind: str) -> None:
    patch = np.zeros((7, 12, 4), np.uint8)
    patch[:, 4:, 3] = 90
    MASK_FEATHER.body(kind)(patch=patch, radius=1)
    # Six of nine pixels at the edge; beyond the right end alpha is 0.
    assert patch[3, :, 3].tolist() == [0, 0, 0, 0, 60, 90, 90, 90, 90, 90, 90, 60]
    assert patch[0, 4:, 3].tolist() == [40, 60, 60, 60, 60, 60, 60, 40]


@every_body
@pytest.mark.parametrize(("alpha", "mean"), [(4, 0), (5, 1), (13, 1), (14, 2)])
def test_means_are_rounded_half_up(kind: str, alpha: int, mean: int) -> None:
    patch = np.zeros((1, 1, 4), np.uint8)
    patch[..., 3] = alpha  # of nine pixels
    MASK_FEATHER.body(kind)(patch=patch, radius=1)
    assert patch[0, 0, 3] == mean


@every_body
@pytest.mark.parametrize("radius", [-1, 1001])
def test_radii_out_of_range_are_refused(kind: str, radius: int) -> None:
    with pytest.raises(ValueError, match="radius"):
        MASK_FEATHER.body(kind)(patch=np.zeros((2, 2, 4), np.uint8), radius=radius)
