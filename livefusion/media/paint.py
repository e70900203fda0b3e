"""Painted faces as PNG files: a mark says what they are, unless an image editor dropped it."""

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import OutputError
from livefusion.core.files import write_new

MARK_KEY, MARK = "livefusion", "painted-face/1"
"""The tEXt chunk of a template, which a painting made from it keeps in most editors."""
_LARGEST_SIDE = 6000


def is_marked(path: Path) -> bool:
    """Whether a file is a PNG that carries the mark; False for anything that cannot be read."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            if MARK_KEY not in image.info and image.width == image.height <= _LARGEST_SIDE:
                image.load()  # some editors write what is said of a picture after its pixels
            return image.info.get(MARK_KEY) == MARK
    except (
        Exception
    ):  # border: Pillow raises whatever damaged bytes lead it to; loading will say what is wrong
        return False


def may_be_painted(path: Path) -> bool:
    """Whether a file is square and has transparency: a painted face whose mark was lost, perhaps."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG", "WEBP"]) as image:
            return image.width == image.height and image.has_transparency_data
    except Exception:  # border: as above
        return False


def save_marked(path: Path, rgba: npt.NDArray[np.uint8]) -> None:
    """Write (h, w, 4) uint8 RGBA as a new PNG with the mark.

    ``OutputError`` if the name does not end in .png, the file is there already, or it cannot be written: a
    template must never replace a painting.
    """
    from PIL import Image, PngImagePlugin

    if path.suffix.lower() != ".png":
        raise OutputError(
            f"{path} is not the name of a PNG file", "end it in .png: others lose what is transparent"
        )
    text = PngImagePlugin.PngInfo()
    text.add_text(MARK_KEY, MARK)
    content = io.BytesIO()
    Image.fromarray(rgba).save(content, format="PNG", pnginfo=text)
    write_new(path, content.getvalue())
