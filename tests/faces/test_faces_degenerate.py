"""What a network that failed may give: the same value everywhere."""

import numpy as np
import pytest

from livefusion.faces.roi import Roi

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("place", [0.0, 17.5])
def test_one_point_still_has_a_region(place: float) -> None:
    roi = Roi.of_landmarks(np.full((478, 3), place, np.float32))
    assert roi.side > 0
    assert np.isfinite(roi.to_crop(256).matrix).all()
