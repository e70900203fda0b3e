from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range, Siting
from livefusion.core.errors import InputError
from livefusion.core.events import FormatChange
from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.h273 import read_color, write_color
from livefusion.testing.media import fill_plane, flat_picture, patch_samples, pattern_picture, pattern_planes

pytestmark = pytest.mark.media

COLORS = {"red": (200, 30, 40), "green": (20, 180, 60), "blue": (30, 40, 220), "skin": (224, 172, 140)}
# Pixel format, bits, planes: what a solid colour is made of.
YUV_FORMATS = ["yuv420p", "yuv422p", "yuv444p", "yuv411p", "yuv420p10le", "yuv422p10le", "yuv444p12le"]


def decode(picture: av.VideoFrame, **options: object) -> tuple[np.ndarray, np.ndarray, FrameDecoder]:
    decoder = FrameDecoder(CpuDevice(), **options)
    decoder.adapt(picture)
    buffer = decoder.convert(picture)
    return buffer.luma.copy(), buffer.chroma.copy(), decoder


@pytest.mark.parametrize(
    "size", [Size(64, 48), Size(66, 50), Size(65, 47), Size(2, 2), Size(3, 3), Size(322, 6)]
)
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuvj420p", "nv12"])
@pytest.mark.parametrize("staged", [False, True])
def test_eight_bit_420_keeps_every_sample(size: Size, pixel_format: str, staged: bool) -> None:
    y, u, v = pattern_planes(size)
    picture = av.VideoFrame(size.width, size.height, pixel_format)
    if pixel_format == "nv12":
        fill_plane(picture.planes[0], y)
        fill_plane(picture.planes[1], np.stack([u, v], axis=2).reshape(u.shape[0], -1))
    else:
        for plane, values in zip(picture.planes, (y, u, v), strict=True):
            fill_plane(plane, values)

    luma, chroma, decoder = decode(picture, staged=staged)

    even = size.even
    np.testing.assert_array_equal(luma, y[: even.height, : even.width])
    rows, columns = even.height // 2, even.width // 2
    np.testing.assert_array_equal(chroma, np.stack([u, v], axis=2)[:rows, :columns])
    assert decoder.size == even
    assert decoder.color.range is (Range.FULL if pixel_format == "yuvj420p" else Range.LIMITED)


@pytest.mark.parametrize("name", COLORS)
@pytest.mark.parametrize("matrix", list(Matrix))
@pytest.mark.parametrize("value_range", list(Range))
@pytest.mark.parametrize("pixel_format", YUV_FORMATS)
def test_yuv_of_any_layout_keeps_its_colour(
    name: str, matrix: Matrix, value_range: Range, pixel_format: str
) -> None:
    color = ColorInfo(matrix=matrix, range=value_range)
    bits = 10 if "p10" in pixel_format else 12 if "p12" in pixel_format else 8
    picture = flat_picture(Size(32, 32), pixel_format, patch_samples(COLORS[name], color, bits))
    write_color(picture, color)

    luma, chroma, decoder = decode(picture)

    y, cb, cr = patch_samples(COLORS[name], color)
    assert decoder.color == color
    assert np.abs(luma.astype(int) - y).max() <= 1
    assert np.abs(chroma.astype(int) - (cb, cr)).max() <= 1


@pytest.mark.parametrize("name", COLORS)
@pytest.mark.parametrize("pixel_format", ["rgb24", "bgr24", "rgba", "bgra", "gbrp", "rgb48le"])
@pytest.mark.parametrize("height", [32, 720])
def test_rgb_becomes_the_matrix_that_players_assume(name: str, pixel_format: str, height: int) -> None:
    pixels = np.full((height, 16, 3), COLORS[name], np.uint8)
    picture = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format=pixel_format)

    luma, chroma, decoder = decode(picture)

    assert decoder.color == ColorInfo.guess(height)
    y, cb, cr = patch_samples(COLORS[name], decoder.color)
    assert np.abs(luma.astype(int) - y).max() <= 1
    assert np.abs(chroma.astype(int) - (cb, cr)).max() <= 1


@pytest.mark.parametrize(
    ("pixel_format", "sample", "expected"),
    [("gray", 77, 77), ("gray10le", 77 * 4, 77), ("gray16le", 77 * 257, 77)],
)
@pytest.mark.parametrize("tag", list(Range))
def test_grey_has_neutral_chroma_and_keeps_its_range(
    pixel_format: str, sample: int, expected: Any, tag: Range
) -> None:
    picture = flat_picture(Size(32, 16), pixel_format, [sample])
    write_color(picture, ColorInfo(range=tag))

    luma, chroma, decoder = decode(picture)

    assert np.abs(luma.astype(int) - expected).max() <= 1
    assert (chroma == 128).all()
    assert decoder.color.range is tag


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (640, 480, ColorInfo(Matrix.BT601, Range.LIMITED, "smpte170m", "smpte170m")),
        (1280, 720, ColorInfo(Matrix.BT709, Range.LIMITED, "bt709", "bt709")),
    ],
)
def test_untagged_pictures_are_what_players_assume(width: int, height: int, expected: ColorInfo) -> None:
    assert read_color(av.VideoFrame(width, height, "yuv420p"), height=height) == expected


@pytest.mark.parametrize("matrix", list(Matrix))
@pytest.mark.parametrize(("transfer", "primaries"), [("smpte2084", "bt2020"), ("iec61966-2-1", "smpte432")])
def test_tags_survive_the_way_there_and_back(matrix: Matrix, transfer: str, primaries: str) -> None:
    color = ColorInfo(matrix, Range.FULL, transfer, primaries)
    picture = av.VideoFrame(16, 16, "yuv420p")
    write_color(picture, color)
    assert read_color(picture, height=16) == color


def test_motion_jpeg_has_its_chroma_in_the_centre() -> None:
    assert decode(pattern_picture(Size(16, 16)), codec="mjpeg")[2].color.siting is Siting.CENTRE


def test_a_change_of_size_or_colour_is_announced_once() -> None:
    decoder = FrameDecoder(CpuDevice())
    small, large = pattern_picture(Size(32, 32)), pattern_picture(Size(64, 48))
    tagged = pattern_picture(Size(64, 48))
    write_color(tagged, ColorInfo(range=Range.FULL))

    changes = [decoder.adapt(picture) for picture in (small, small, large, large, tagged)]

    assert [change and change.size for change in changes] == [
        Size(32, 32),
        None,
        Size(64, 48),
        None,
        Size(64, 48),
    ]
    assert isinstance(changes[4], FormatChange)
    assert changes[4].color.range is Range.FULL
    assert decoder.convert(tagged).luma.shape == (48, 64)


@pytest.mark.parametrize("size", [Size(1, 32), Size(32, 1), Size(8192, 8192), Size(16386, 16)])
def test_sizes_that_make_no_sense_are_refused(size: Size) -> None:
    with pytest.raises(InputError):
        FrameDecoder(CpuDevice()).adapt(av.VideoFrame(size.width, size.height, "gray"))


def test_frames_do_not_share_memory_while_both_are_held() -> None:
    decoder = FrameDecoder(CpuDevice(), staged=True)
    buffers = []
    for index in range(3):
        picture = pattern_picture(Size(32, 32), index)
        decoder.adapt(picture)
        buffers.append(decoder.convert(picture))
    for index, buffer in enumerate(buffers):
        np.testing.assert_array_equal(buffer.luma, pattern_planes(Size(32, 32), index)[0])
