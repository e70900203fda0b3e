"""Photos of any kind as upright 8-bit RGB, without trusting the file."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import InputError
from livefusion.media.paths import require_file

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 40_000_000
"""Largest photo that is decoded: a few crafted bytes can promise gigabytes of pixels."""

SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".jp2", ".ppm", ".pgm"}
)
"""File name endings that count as photos in a folder."""

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi", ".ts", ".mts", ".m2ts", ".3gp", ".mpg", ".mpeg", ".ogv"}
)
"""File name endings that count as videos."""
SOURCE_SUFFIXES = SUFFIXES | VIDEO_SUFFIXES
"""Of whatever a face can be made of."""
_MOVING_PICTURES = 20
"""A GIF of so many pictures is a video and no photo."""

# Nothing else is tried: of what Pillow can open, EPS runs an interpreter, and others only widen the attack.
_FORMATS = frozenset({"JPEG", "MPO", "PNG", "WEBP", "BMP", "GIF", "TIFF", "AVIF", "JPEG2000", "PPM"})
_SIXTEEN_BIT_MODES = frozenset({"I;16", "I;16B", "I;16L", "I;16N", "I"})
_REMEDY = "use a JPEG or PNG photo that opens in an image viewer"


def load_photo(path: Path) -> npt.NDArray[np.uint8]:
    """The photo as (h, w, 3) uint8 RGB, upright by its EXIF tag, transparency on white.

    Of an animation the first picture is taken. ``InputError`` if the file is missing, no image, damaged, or
    larger than ``MAX_PIXELS``, which is known from its header before anything is decoded.
    """
    return _load(path, _to_rgb)


def load_rgba(path: Path) -> npt.NDArray[np.uint8]:
    """The picture as (h, w, 4) uint8 RGBA with straight alpha, otherwise as ``load_photo``."""
    return _load(path, _to_rgba)


def _load(path: Path, convert: "Callable[[Image.Image], npt.NDArray[np.uint8]]") -> npt.NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError

    require_file(path, "photo")
    try:
        with warnings.catch_warnings():
            # Pillow warns of large pictures and odd tags; the size is checked below, the tags do not matter.
            warnings.simplefilter("ignore")
            Image.init()
            with Image.open(path, formats=[name for name in Image.OPEN if name in _FORMATS]) as image:
                _check_size(path, image)
                return convert(image)
    except PermissionError as error:
        raise InputError(f"{path} may not be read", "check its permissions") from error
    except UnidentifiedImageError as error:
        raise _unknown(path) from error
    except Image.DecompressionBombError as error:
        raise _too_large(path) from error
    except InputError:
        raise
    except Exception as error:  # border: Pillow's decoders raise whatever damaged bytes lead them to
        raise InputError(f"{path} is damaged ({_first_line(error)})", _REMEDY) from error


def is_video(path: Path) -> bool:
    """Whether a file is a video by its name; a GIF is one if it has many pictures."""
    if path.suffix.lower() != ".gif":
        return path.suffix.lower() in VIDEO_SUFFIXES
    from PIL import Image

    try:
        with Image.open(path, formats=["GIF"]) as image:
            return getattr(image, "n_frames", 1) >= _MOVING_PICTURES
    except (OSError, SyntaxError, ValueError):
        return False  # ``load_photo`` says what is wrong with it


def list_photos(folder: Path, suffixes: frozenset[str] = SUFFIXES) -> list[Path]:
    """The photos of a folder by name; hidden files and other kinds are skipped. ``InputError`` if none."""
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError as error:
        raise InputError(f"{folder} does not exist", "check the path") from error
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror})", "name a folder of photos") from error
    photos = [
        entry
        for entry in entries
        if not entry.name.startswith(".") and entry.suffix.lower() in suffixes and entry.is_file()
    ]
    if not photos:
        raise InputError(f"there is no photo in {folder}", "put JPEG or PNG photos into it")
    return photos


def _check_size(path: Path, image: "Image.Image") -> None:
    if image.width * image.height > MAX_PIXELS:
        raise _too_large(path)


def _unknown(path: Path) -> InputError:
    with path.open("rb") as file:
        header = file.read(12)
    if header[4:] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc"):
        return InputError(f"{path} is a HEIC photo, which cannot be read here", "export it as JPEG")
    return InputError(f"{path} is not an image", _REMEDY)


def _too_large(path: Path) -> InputError:
    return InputError(f"{path} has more than {MAX_PIXELS // 1_000_000} megapixels", "scale it down first")


def _upright(image: "Image.Image") -> "Image.Image":
    from PIL import ImageOps

    image.load()
    return ImageOps.exif_transpose(image) or image


def _to_rgba(image: "Image.Image") -> npt.NDArray[np.uint8]:
    upright = _upright(image)
    if upright.has_transparency_data:
        return np.asarray(upright.convert("RGBA"), np.uint8)
    rgb = _to_rgb(upright)
    return np.dstack([rgb, np.full(rgb.shape[:2], 255, np.uint8)])


def _to_rgb(image: "Image.Image") -> npt.NDArray[np.uint8]:
    upright = _upright(image)
    if upright.mode in _SIXTEEN_BIT_MODES:
        return _from_sixteen_bit(np.asarray(upright))
    if upright.mode == "F":
        values = np.nan_to_num(np.asarray(upright))
        return _from_sixteen_bit(values * 65535 if values.max(initial=0) <= 1 else values)
    if upright.has_transparency_data:
        return _on_white(np.asarray(upright.convert("RGBA")))
    return np.asarray(upright.convert("RGB"), np.uint8)


def _from_sixteen_bit(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """Grey of up to 16 bits as RGB; Pillow's own conversion would clip everything above 255 to white."""
    depth = 65535 if values.max(initial=0) > 255 else 255
    grey = np.clip(values.astype(np.float64) * (255 / depth) + 0.5, 0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _on_white(rgba: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Straight alpha over white."""
    alpha = rgba[:, :, 3:].astype(np.uint16)
    blended = rgba[:, :, :3] * alpha + 255 * (255 - alpha) + 127
    return (blended // 255).astype(np.uint8)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0] or type(error).__name__
