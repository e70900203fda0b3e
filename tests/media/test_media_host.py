import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.geometry import Size
from livefusion.media.host import Fitter
from livefusion.media.recolor import Recolorer
from livefusion.testing.media import patch_samples

pytestmark = pytest.mark.unit

WEBCAM = ColorInfo(matrix=Matrix.BT601, range=Range.LIMITED)
PATCHES = [
    (0, 0, 0),
    (255, 255, 255),
    (200, 30, 40),
    (20, 180, 60),
    (30, 40, 220),
    (224, 172, 140),
    (90, 90, 90),
]


def planes(size: Size, samples: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    luma = np.full((size.height, size.width), samples[0], np.uint8)
    chroma = np.empty((size.height // 2, size.width // 2, 2), np.uint8)
    chroma[:] = samples[1:]
    return luma, chroma


@pytest.mark.parametrize("matrix", list(Matrix))
@pytest.mark.parametrize("value_range", list(Range))
@pytest.mark.parametrize("rgb", PATCHES)
@pytest.mark.parametrize("target", [WEBCAM, ColorInfo(), ColorInfo(matrix=Matrix.BT709, range=Range.FULL)])
def test_every_colour_is_the_same_in_the_target(
    matrix: Matrix, value_range: Range, rgb: tuple[int, int, int], target: ColorInfo
) -> None:
    color = ColorInfo(matrix=matrix, range=value_range)
    luma, chroma = Recolorer(target).recolor(*planes(Size(16, 8), patch_samples(rgb, color)), color)

    y, cb, cr = patch_samples(rgb, target)
    assert np.abs(luma.astype(int) - y).max() <= 2
    assert np.abs(chroma.astype(int) - (cb, cr)).max() <= 2


def test_colours_of_the_target_pass_through_untouched() -> None:
    luma, chroma = planes(Size(16, 8), (100, 110, 120))
    out = Recolorer(WEBCAM).recolor(luma, chroma, WEBCAM)
    assert out[0] is luma
    assert out[1] is chroma


def test_recolouring_follows_a_change_of_size_and_colour() -> None:
    recolorer = Recolorer(WEBCAM)
    for size, matrix in [
        (Size(16, 8), Matrix.BT709),
        (Size(32, 16), Matrix.BT709),
        (Size(32, 16), Matrix.BT601),
    ]:
        color = ColorInfo(matrix=matrix, range=Range.FULL)
        luma, _ = recolorer.recolor(*planes(size, (255, 128, 128)), color)
        assert luma.shape == (size.height, size.width)
        assert (luma == 235).all()


def test_the_same_size_is_not_copied() -> None:
    luma, chroma = planes(Size(16, 8), (100, 110, 120))
    assert Fitter(Size(16, 8)).fit(luma, chroma, Range.LIMITED)[0] is luma


@pytest.mark.parametrize(
    ("size", "inner"),
    [
        (Size(32, 32), (slice(0, 64), slice(32, 96))),
        (Size(256, 64), (slice(16, 48), slice(0, 128))),
        (Size(2, 200), (slice(0, 64), slice(62, 64))),
    ],
)
@pytest.mark.parametrize(("value_range", "black"), [(Range.LIMITED, 16), (Range.FULL, 0)])
def test_another_shape_gets_black_bars(
    size: Size, inner: tuple[slice, slice], value_range: Range, black: int
) -> None:
    fitter = Fitter(Size(128, 64))
    fitter.fit(*planes(Size(64, 64), (90, 20, 30)), value_range)  # leaves nothing behind
    luma, chroma = fitter.fit(*planes(size, (200, 90, 160)), value_range)

    mask = np.zeros((64, 128), bool)
    mask[inner] = True
    assert (luma[mask] == 200).all()
    assert (luma[~mask] == black).all()
    assert {tuple(pair) for pair in chroma.reshape(-1, 2)} == {(90, 160), (128, 128)}


def test_recoloured_pictures_look_the_same_to_swscale() -> None:
    rng = np.random.default_rng(3)
    smooth = rng.integers(40, 200, (6, 8, 3), np.uint8)
    rgb = av.VideoFrame.from_ndarray(smooth, "rgb24").reformat(64, 48)
    source = rgb.reformat(
        format="nv12", dst_colorspace="ITU709", src_color_range="JPEG", dst_color_range="JPEG"
    )
    target = rgb.reformat(
        format="nv12", dst_colorspace="ITU601", src_color_range="JPEG", dst_color_range="MPEG"
    )
    given, wanted = source.to_ndarray(format="nv12"), target.to_ndarray(format="nv12")

    color = ColorInfo(matrix=Matrix.BT709, range=Range.FULL)
    luma, chroma = Recolorer(WEBCAM).recolor(given[:48], given[48:].reshape(24, 32, 2), color)

    assert np.abs(luma.astype(int) - wanted[:48]).mean() < 1
    assert np.abs(chroma.astype(int) - wanted[48:].reshape(24, 32, 2)).mean() < 1
