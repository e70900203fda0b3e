"""Textures on the device: colours, sizes, and which size a face is drawn from."""

import numpy as np
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.devices.cpu import CpuDevice
from livefusion.swap.mesh.texture import LEVEL_SIZES, choose_level, rgba_to_yuva, to_levels

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("color", "white", "red"),
    [
        (ColorInfo(), (235, 128, 128), (63, 102, 240)),
        (ColorInfo(Matrix.BT601), (235, 128, 128), (81, 90, 240)),
        (ColorInfo(Matrix.BT601, Range.FULL), (255, 128, 128), (76, 85, 255)),
    ],
)
def test_colours(color: ColorInfo, white: tuple[int, ...], red: tuple[int, ...]) -> None:
    rgba = np.array([[[255, 255, 255, 7], [255, 0, 0, 200]]], np.uint8)
    yuva = rgba_to_yuva(rgba, color)
    assert np.abs(yuva[0, :, :3].astype(int) - (white, red)).max() <= 1
    assert yuva[0, :, 3].tolist() == [7, 200]


def test_levels_halve_and_keep_the_mean() -> None:
    device = CpuDevice()
    rgba = np.random.default_rng(0).integers(0, 256, (1024, 1024, 4), dtype=np.uint8)
    levels = to_levels(rgba, ColorInfo(), device, device.stream("test"))
    assert [level.side for level in levels] == list(LEVEL_SIZES)
    for level in levels:
        assert level.texels.shape == (level.side, level.side, 4)
        assert abs(float(level.texels[..., 0].mean()) - float(levels[0].texels[..., 0].mean())) < 1
        np.testing.assert_allclose(level.uv + 0.5, (levels[0].uv + 0.5) * level.side / 1024, rtol=1e-4)


@pytest.mark.parametrize(
    ("width", "in_use", "side"),
    [(20, None, 64), (140, None, 128), (150, None, 256), (380, None, 512), (2000, None, 1024)],
)
def test_a_pixel_shows_one_to_two_texels(width: float, in_use: int | None, side: int) -> None:
    assert LEVEL_SIZES[choose_level(width, in_use)] == side


def test_a_level_in_use_is_kept_while_it_serves() -> None:
    in_use = LEVEL_SIZES.index(128)
    assert choose_level(150, in_use) == in_use
    assert choose_level(170, in_use) != in_use
    assert choose_level(50, in_use) != in_use
