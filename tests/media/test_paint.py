"""Painted faces as files: the mark, what loses it, and pictures of every kind."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from livefusion.core.errors import InputError, OutputError
from livefusion.media.paint import is_marked, may_be_painted, save_marked
from livefusion.media.photo import MAX_PIXELS, load_rgba

pytestmark = pytest.mark.unit


def painting(side: int = 8) -> np.ndarray:
    rgba = np.zeros((side, side, 4), np.uint8)
    rgba[2:5, 2:5] = (200, 30, 40, 128)
    return rgba


def test_what_is_saved_carries_the_mark_and_every_texel(tmp_path: Path) -> None:
    path = tmp_path / "face.png"
    save_marked(path, painting())
    assert is_marked(path)
    assert np.array_equal(load_rgba(path), painting())


def test_the_mark_may_stand_after_the_pixels(tmp_path: Path) -> None:
    path = tmp_path / "face.png"
    save_marked(path, painting())
    content = path.read_bytes()
    start = content.index(b"tEXt") - 4
    end = start + 12 + int.from_bytes(content[start : start + 4], "big")
    before_end = content.index(b"IEND") - 4
    path.write_bytes(content[:start] + content[end:before_end] + content[start:end] + content[before_end:])
    assert is_marked(path)


def test_an_editor_may_drop_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "face.png"
    Image.fromarray(painting()).save(path)
    assert not is_marked(path)
    assert may_be_painted(path)


@pytest.mark.parametrize(
    ("size", "mode"), [((8, 8), "RGB"), ((8, 9), "RGBA"), ((8, 8), "L")], ids=["opaque", "oblong", "grey"]
)
def test_an_ordinary_photo_is_not_taken_for_paint(tmp_path: Path, size: tuple[int, int], mode: str) -> None:
    path = tmp_path / "photo.png"
    Image.new(mode, size).save(path)
    assert not is_marked(path)
    assert not may_be_painted(path)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"no picture at all"])
def test_a_damaged_file_has_no_mark(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "face.png"
    path.write_bytes(content)
    assert not is_marked(path)
    assert not may_be_painted(path)
    assert not is_marked(tmp_path / "nowhere.png")


def test_a_template_never_replaces_a_painting(tmp_path: Path) -> None:
    path = tmp_path / "face.png"
    path.write_bytes(b"hours of work")
    with pytest.raises(OutputError, match="there already"):
        save_marked(path, painting())
    assert path.read_bytes() == b"hours of work"


@pytest.mark.parametrize("name", ["face.jpg", "face", "nowhere/face.png"])
def test_where_it_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError):
        save_marked(tmp_path / name, painting())
    assert not list(tmp_path.iterdir())


def sixteen_bit_grey() -> Image.Image:
    return Image.fromarray(np.full((8, 8), 0x8000, np.uint16))


def palette() -> Image.Image:
    image = Image.new("P", (8, 8), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    image.info["transparency"] = 0
    image.putpixel((0, 0), 0)
    return image


@pytest.mark.parametrize(
    ("image", "first", "last"),
    [
        (Image.new("RGB", (8, 8), (1, 2, 3)), (1, 2, 3, 255), (1, 2, 3, 255)),
        (Image.new("L", (8, 8), 77), (77, 77, 77, 255), (77, 77, 77, 255)),
        (Image.new("LA", (8, 8), (77, 9)), (77, 77, 77, 9), (77, 77, 77, 9)),
        (palette(), (0, 0, 0, 0), (10, 20, 30, 255)),
        (sixteen_bit_grey(), (128, 128, 128, 255), (128, 128, 128, 255)),
    ],
    ids=["no alpha", "grey", "grey with alpha", "palette", "16 bits"],
)
def test_every_kind_of_png_becomes_rgba(
    tmp_path: Path, image: Image.Image, first: tuple[int, ...], last: tuple[int, ...]
) -> None:
    image.save(tmp_path / "face.png")
    rgba = load_rgba(tmp_path / "face.png")
    assert rgba.shape == (8, 8, 4)
    assert tuple(rgba[0, 0]) == first
    assert tuple(rgba[-1, -1]) == last


def test_a_torn_and_a_huge_painting_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "face.png"
    save_marked(path, np.random.default_rng(0).integers(0, 256, (64, 64, 4)).astype(np.uint8))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match="damaged"):
        load_rgba(path)
    side = int(MAX_PIXELS**0.5) + 10
    Image.new("1", (side, side)).save(path)
    with pytest.raises(InputError, match="megapixels"):
        load_rgba(path)
