"""The badge that says that AI changed the picture, and the slate for a picture that is withheld.

EU Code of Practice on marking (June 2026): capital letters, top right, unobstructed, shown all the time.
China's GB 45438-2025: text height at least 5 % of the picture's short side. Both are drawn once for each
picture size and colour description; what they cost a frame is the blend of the badge alone.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageFont

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Region, Size
from livefusion.core.patch import Patch
from livefusion.core.settings import BadgeText
from livefusion.inference.registry import find_models_folder

Bytes = npt.NDArray[np.uint8]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

BADGE_SHORT = "AI"
"""For pictures in which the whole text would not be wide enough to be read; the Code allows it."""
TEXTS = {BadgeText.ENGLISH: "AI MODIFIED", BadgeText.CHINESE: "AI\u6362\u8138"}
"""The second is "AI face swap" in Chinese, as GB 45438 asks for."""
FONTS = {BadgeText.ENGLISH: "", BadgeText.CHINESE: "badge_font.ttf"}
"""Files in the models folder; Pillow's own font, which has no Chinese, where there is none."""
SLATE_TITLE = "LiveFusion: one moment"
SLATE_TEXT = "Picture withheld"

TEXT_SHARE = 0.05
"""Height of the capitals as a share of the short side."""
SMALLEST_TEXT = 8
"""Lowest height of the capitals in pixels at which they can still be read."""
PLATE = (18, 20, 24, 224)
INK = (245, 246, 248, 255)
SLATE_GROUND = (28, 31, 38)
"""One colour: a gradient this dark shows steps in eight bits."""
SLATE_INK, SLATE_DIM = (225, 228, 234), (150, 156, 168)
OVERSAMPLING = 4
"""The plate is drawn so many times larger and reduced, which is what smooths its corners."""


@lru_cache(maxsize=32)
def badge_patch(size: Size, color: ColorInfo, text: BadgeText = BadgeText.ENGLISH) -> Patch:
    """The badge for a picture of even ``size``: YUVA pixels and their place at the top right.

    The arrays are read-only and shared between calls. A picture too small for the text carries "AI" alone,
    and one too small for that a plain plate; only a picture of less than 2×2 pixels has an empty region.
    """
    picture = _badge_picture(size, text)
    width, height = picture.size
    margin = _even(min(size.width, size.height) * 0.02)
    x = max(0, size.width - width - margin) & ~1
    y = min(margin, max(0, size.height - height)) & ~1
    pixels = np.asarray(picture)
    patch = np.dstack([rgb_to_yuv(pixels[..., :3], color), pixels[..., 3]])
    patch.flags.writeable = False
    return Patch(Region(x, y, width, height), patch)


@lru_cache(maxsize=16)
def slate(size: Size, color: ColorInfo, text: str = SLATE_TEXT) -> tuple[Bytes, Bytes]:
    """A calm picture for a picture that is withheld, badge included; ``text`` says why in a few words.

    Luma is (height, width), chroma (height/2, width/2, 2); uint8, read-only and shared between calls.
    """
    picture = _slate_picture(size, text)
    lettered = _difference_box(picture, SLATE_GROUND)
    badge = _badge_picture(size, BadgeText.ENGLISH)
    region = badge_patch(size, color).region
    picture.paste(badge, (region.x, region.y), badge)
    ground = rgb_to_yuv(np.array([[SLATE_GROUND]], np.uint8), color)[0, 0]
    luma = np.full((size.height, size.width), ground[0])
    chroma = np.full((size.height // 2, size.width // 2, 2), ground[1:])
    # All of a 720p picture takes 110 ms of a core, which a panic would wait for; these take 5.
    for part in (lettered, region):
        _convert_part(picture, part, color, luma, chroma)
    luma.flags.writeable = chroma.flags.writeable = False
    return luma, chroma


def _difference_box(picture: Image.Image, ground: tuple[int, int, int]) -> Region:
    """The smallest region with even edges that holds all that is not of one colour."""
    box = ImageChops.difference(picture, Image.new("RGB", picture.size, ground)).getbbox()
    left, top, right, bottom = box or (0, 0, 0, 0)
    left, top = left & ~1, top & ~1
    return Region(left, top, _even(right - left), _even(bottom - top))


def _convert_part(picture: Image.Image, part: Region, color: ColorInfo, luma: Bytes, chroma: Bytes) -> None:
    """Write a part of an RGB picture, with even edges, into the planes of the whole."""
    right, bottom = part.x + part.width, part.y + part.height
    yuv = rgb_to_yuv(np.asarray(picture.crop((part.x, part.y, right, bottom))), color)
    luma[part.y : bottom, part.x : right] = yuv[..., 0]
    pairs = yuv[::2, :, 1:].astype(np.uint16) + yuv[1::2, :, 1:]
    mean = (pairs[:, ::2] + pairs[:, 1::2] + 2) // 4
    chroma[part.y // 2 : bottom // 2, part.x // 2 : right // 2] = mean


def rgb_to_yuv(rgb: Bytes, color: ColorInfo) -> Bytes:
    """(height, width, 3) R'G'B' to Y, Cb, Cr in ``color``, both uint8 (H.273 equations, rounded)."""
    kr, kb = color.luma_weights
    red, green, blue = (rgb[..., i].astype(np.float32) / 255 for i in range(3))
    y = kr * red + (1 - kr - kb) * green + kb * blue
    planes = (
        color.luma_offset + color.luma_span * y,
        128 + color.chroma_span * (blue - y) / (2 * (1 - kb)),
        128 + color.chroma_span * (red - y) / (2 * (1 - kr)),
    )
    return np.clip(np.rint(np.stack(planes, axis=-1)), 0, 255).astype(np.uint8)


def _badge_picture(size: Size, kind: BadgeText) -> Image.Image:
    """The badge as RGBA, no larger than the picture, with even sides."""
    capitals = max(SMALLEST_TEXT, math.ceil(min(size.width, size.height) * TEXT_SHARE))
    font = _font_of_height(capitals, FONTS[kind])
    for text in (TEXTS[kind], BADGE_SHORT, ""):
        left, top, right, bottom = font.getbbox(text) if text else (0, 0, 0, 0)
        pad_x, pad_y = capitals * 0.6, capitals * 0.45
        plate = Size(_even(right - left + 2 * pad_x), _even(max(bottom - top, capitals) + 2 * pad_y))
        if plate.width <= size.width and plate.height <= size.height:
            break
    plate = Size(min(plate.width, size.even.width), min(plate.height, size.even.height))
    picture = _rounded_plate(plate)
    if text:
        draw = ImageDraw.Draw(picture)
        # Whole pixels: between two rows the letters would be blurred and lose their height.
        x = round((plate.width - (right - left)) / 2 - left)
        y = round((plate.height - (bottom - top)) / 2 - top)
        draw.text((x, y), text, font=font, fill=INK)
    return picture


def _rounded_plate(size: Size) -> Image.Image:
    if not size.width or not size.height:
        return Image.new("RGBA", (size.width, size.height))
    large = Image.new("L", (size.width * OVERSAMPLING, size.height * OVERSAMPLING), 0)
    radius = min(large.size) * 0.22
    ImageDraw.Draw(large).rounded_rectangle((0, 0, large.width - 1, large.height - 1), radius, fill=PLATE[3])
    picture = Image.new("RGBA", (size.width, size.height), PLATE[:3])
    picture.putalpha(large.resize((size.width, size.height), Image.Resampling.BOX))
    return picture


def _slate_picture(size: Size, reason: str) -> Image.Image:
    picture = Image.new("RGB", (size.width, size.height), SLATE_GROUND)
    draw = ImageDraw.Draw(picture)
    short = min(size.width, size.height)
    for text, share, offset, ink in (
        (SLATE_TITLE, 0.055, -0.03, SLATE_INK),
        (reason, 0.032, 0.06, SLATE_DIM),
    ):
        font = _font_of_height(max(SMALLEST_TEXT, round(short * share)))
        left, top, right, bottom = font.getbbox(text)
        if right - left > size.width * 0.9:
            continue  # unreadable text is worse than a calm picture without any
        x = round((size.width - (right - left)) / 2 - left)
        y = round(size.height / 2 + short * offset - (bottom - top) / 2 - top)
        draw.text((x, y), text, font=font, fill=ink)
    return picture


@lru_cache(maxsize=32)
def _font_of_height(capitals: int, file: str = "") -> Font:
    """A font of the models folder, or Pillow's own, in the smallest size whose M is so many pixels high."""
    points = float(capitals)
    while (height := _ink_height(_font(points, file))) < capitals:
        points *= max(1.02, capitals / max(1, height))
    return _font(points, file)


def _font(points: float, file: str) -> Font:
    return ImageFont.truetype(find_models_folder() / file, points) if file else ImageFont.load_default(points)


def _ink_height(font: Font) -> int:
    """Rows of an M that are at least half covered; the box that Pillow states is rounded up."""
    _, _, right, bottom = font.getbbox("M")
    canvas = Image.new("L", (math.ceil(right) + 2, math.ceil(bottom) + 2))
    ImageDraw.Draw(canvas).text((0, 0), "M", font=font, fill=255)
    return int(np.count_nonzero(np.asarray(canvas).max(axis=1) >= 128))


def _even(length: float) -> int:
    """The nearest even number of pixels that is not smaller."""
    return math.ceil(length / 2) * 2
