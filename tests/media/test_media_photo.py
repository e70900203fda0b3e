import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from livefusion.core.errors import InputError
from livefusion.media.photo import MAX_PIXELS, list_photos, load_photo

pytestmark = pytest.mark.unit

RGB = np.zeros((40, 60, 3), np.uint8)
RGB[:20], RGB[20:], RGB[:, :30, 2] = (200, 40, 10), (20, 150, 90), 230


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "Übung 日本.png", "a.webp", "no-suffix"])
def test_lossless_photos_keep_every_pixel(tmp_path: Path, name: str) -> None:
    options = {"a.webp": {"lossless": True}, "no-suffix": {"format": "PNG"}}.get(name, {})
    path = saved(tmp_path / name, Image.fromarray(RGB), **options)
    np.testing.assert_array_equal(load_photo(path), RGB)


@pytest.mark.parametrize("tag", range(1, 9))
def test_exif_orientation_is_applied(tmp_path: Path, tag: int) -> None:
    # What the camera stored for each tag, so that the picture stands upright after the turn.
    stored = {
        1: RGB,
        2: RGB[:, ::-1],
        3: RGB[::-1, ::-1],
        4: RGB[::-1],
        5: RGB.transpose(1, 0, 2),
        6: np.rot90(RGB, 1),
        7: np.rot90(RGB, 2).transpose(1, 0, 2),
        8: np.rot90(RGB, -1),
    }[tag]
    exif = Image.Exif()
    exif[0x0112] = tag
    path = saved(tmp_path / "a.png", Image.fromarray(np.ascontiguousarray(stored)), exif=exif)
    np.testing.assert_array_equal(load_photo(path), RGB)


@pytest.mark.parametrize(
    ("image", "name", "expected"),
    [
        (Image.new("L", (8, 8), 77), "a.png", (77, 77, 77)),
        (Image.new("1", (8, 8), 1), "a.png", (255, 255, 255)),
        (Image.new("LA", (8, 8), (100, 0)), "a.png", (255, 255, 255)),
        (Image.new("RGBA", (8, 8), (200, 100, 0, 255)), "a.png", (200, 100, 0)),
        (Image.new("RGBA", (8, 8), (200, 100, 0, 0)), "a.png", (255, 255, 255)),
        (Image.new("RGBA", (8, 8), (255, 55, 0, 128)), "a.png", (255, 155, 127)),
        (Image.new("P", (8, 8), 3), "a.png", None),
        (Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "a.tif", (255, 0, 0)),
        (Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "a.jpg", (255, 0, 0)),
        (Image.new("YCbCr", (8, 8), (76, 85, 255)), "a.jpg", (254, 0, 0)),
        (Image.fromarray(np.full((8, 8), 30_000, np.uint16)), "a.png", (117, 117, 117)),
        (Image.fromarray(np.full((8, 8), 65535, np.uint16)), "a.tif", (255, 255, 255)),
        (Image.fromarray(np.full((8, 8), 0.5, np.float32)), "a.tif", (128, 128, 128)),
    ],
)
def test_every_mode_becomes_rgb(
    tmp_path: Path, image: Image.Image, name: str, expected: tuple[int, int, int] | None
) -> None:
    photo = load_photo(saved(tmp_path / name, image))
    assert photo.shape == (8, 8, 3)
    assert photo.dtype == np.uint8
    if expected is not None:
        assert np.abs(photo.astype(int) - expected).max() <= 3


def test_a_palette_with_transparency_lies_on_white(tmp_path: Path) -> None:
    image = Image.new("P", (8, 8), 0)
    image.putpalette([10, 20, 30])
    photo = load_photo(saved(tmp_path / "a.gif", image, transparency=0))
    assert (photo == 255).all()


def test_of_an_animation_the_first_picture_counts(tmp_path: Path) -> None:
    first, second = Image.new("RGB", (8, 8), (255, 0, 0)), Image.new("RGB", (8, 8), (0, 0, 255))
    photo = load_photo(saved(tmp_path / "a.gif", first, save_all=True, append_images=[second]))
    assert (photo == (255, 0, 0)).all()


def png_header(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))
    data = b"IDAT" + zlib.compress(b"\0" * 100)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk
        + struct.pack(">I", len(data) - 4)
        + data
        + struct.pack(">I", zlib.crc32(data))
    )


@pytest.mark.parametrize(
    ("width", "height"), [(8_000, 5_001), (30_000, 30_000), (2_000_000_000, 2), (2**31 - 1, 2**31 - 1)]
)
def test_image_bombs_are_refused_by_their_header(tmp_path: Path, width: int, height: int) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_header(width, height))
    with pytest.raises(InputError):  # and no warning of Pillow escapes: those are errors here
        load_photo(path)


def test_the_cap_is_forty_megapixels(tmp_path: Path) -> None:
    assert MAX_PIXELS == 40_000_000
    path = tmp_path / "large.png"
    path.write_bytes(png_header(8_000, 5_001))
    with pytest.raises(InputError, match="40 megapixels"):
        load_photo(path)


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp", "a.tif", "a.gif"])
@pytest.mark.parametrize("seed", range(8))
def test_damaged_photos_are_refused_or_read_but_never_crash(tmp_path: Path, name: str, seed: int) -> None:
    path = saved(tmp_path / name, Image.fromarray(RGB))
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    if seed % 2:
        data = data[: chance.randrange(len(data))]
    for _ in range(min(len(data), 1 << seed)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    refusal = None
    try:
        photo = load_photo(path)
    except InputError as error:
        refusal = error
    if refusal is None:
        assert photo.ndim == 3
    else:
        assert refusal.remedy
        assert "\n" not in str(refusal)


@pytest.mark.parametrize("content", [b"", b"hello world" * 100, b"\xff\xd8\xff\xe0", b"%PDF-1.7\n"])
def test_what_is_no_photo_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    with pytest.raises(InputError):
        load_photo(path)


def test_postscript_is_never_interpreted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an image"):
        load_photo(saved(tmp_path / "a.eps", Image.fromarray(RGB)))


def test_phone_photos_in_heic_get_their_own_advice(tmp_path: Path) -> None:
    path = tmp_path / "IMG_0001.HEIC"
    path.write_bytes(b"\0\0\0\x18ftypheic" + b"\0" * 100)
    with pytest.raises(InputError, match="export it as JPEG"):
        load_photo(path)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load_photo(tmp_path / "none.jpg")
    with pytest.raises(InputError, match="folder"):
        load_photo(tmp_path)


def test_a_folder_gives_its_photos_in_order(tmp_path: Path) -> None:
    for name in ("b.JPG", "a.png", ".hidden.png", "notes.txt", "clip.mp4"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "inner.png").mkdir()
    assert [path.name for path in list_photos(tmp_path)] == ["a.png", "b.JPG"]


def test_a_folder_without_photos_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no photo"):
        list_photos(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        list_photos(tmp_path / "missing")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError):
        list_photos(tmp_path / "file")
