"""Smoother skin, and what must stay."""

import numpy as np
import pytest

from livefusion.core.face import Identity
from livefusion.swap.mesh.regions import not_bare
from livefusion.swap.mesh.smooth import smooth_skin, smoothed

pytestmark = pytest.mark.unit

CHEEK = np.s_[560:620, 230:290]


def _texture() -> np.ndarray:
    """Blotchy skin everywhere, with a dark edge on the forehead, and a corner without any."""
    rng = np.random.default_rng(0)
    texture = np.full((1024, 1024, 4), 255, np.uint8)
    texture[..., :3] = np.clip(rng.normal(150, 5, (1024, 1024, 1)) + np.array((20, 0, -20)), 0, 255)
    texture[:150, :, :3] //= 3
    texture[900:, 900:] = 0
    return texture


def _identity(*, painted: bool = False) -> Identity:
    return Identity("a", "A", _texture(), np.zeros((468, 3), np.float32), painted=painted)


def test_the_more_the_smoother() -> None:
    before = _texture()
    roughness = [float(smooth_skin(before, a)[CHEEK][..., :3].std(axis=(0, 1)).mean()) for a in (0.2, 0.5, 1)]
    assert float(before[CHEEK][..., :3].std(axis=(0, 1)).mean()) > roughness[0] > roughness[1] > roughness[2]
    assert roughness[2] < 1.5


def test_features_alpha_and_bare_places_stay() -> None:
    before = _texture()
    after = smooth_skin(before, 1.0)
    assert np.array_equal(after[..., 3], before[..., 3])
    assert np.array_equal(after[not_bare() == 1], before[not_bare() == 1])
    assert np.array_equal(after[900:, 900:], before[900:, 900:])


def test_strong_edges_stay_and_colours_do_too() -> None:
    before, after = (texture[..., :3].astype(float) for texture in (_texture(), smooth_skin(_texture(), 1.0)))
    steps = [
        texture[152:156, 400:600].mean(axis=(0, 1)) - texture[144:148, 400:600].mean(axis=(0, 1))
        for texture in (before, after)
    ]
    assert (steps[1] > 0.85 * steps[0]).all()
    assert np.abs(after[CHEEK].mean(axis=(0, 1)) - before[CHEEK].mean(axis=(0, 1))).max() < 1


def test_only_a_smoother_face_is_another_object() -> None:
    for identity, amount, same in (
        (_identity(), 0.0, True),
        (_identity(painted=True), 1.0, True),
        (_identity(), 0.3, False),
    ):
        made = smoothed(identity, amount)
        assert (made is identity) == same
        assert made.id == identity.id
