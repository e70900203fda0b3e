"""Clips of all kinds for `tools/watermark_table.py`: the luma of 720p pictures, the same each time.

Drawn ones cover what codecs and eyes find easy and hard; photos are panned, videos cropped to 16:9 and
enlarged; the performer is seen from near and far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt

from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.testing.reel import draw_reel

Luma = npt.NDArray[np.uint8]
WIDTH, HEIGHT, FPS = 1280, 720, 30
VIDEO_SUFFIXES = frozenset({".mkv", ".mp4", ".gif", ".webm", ".mov"})
PHOTO_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})


@dataclass(frozen=True, slots=True)
class Clip:
    """A name, and what draws so many pictures of it, (720, 1280) uint8 each."""

    name: str
    draw: Callable[[int], Iterator[Luma]]


def drawn_clips() -> list[Clip]:
    """The clips that need no files."""
    flat = {
        "flat-grey": (118, 1.0),
        "flat-dark": (22, 1.0),
        "flat-bright": (228, 1.0),
        "flat-clean": (90, 0.0),
    }
    return [
        *(Clip(name, partial(_flat, level=level, noise=noise)) for name, (level, noise) in flat.items()),
        Clip("gradient", _gradient),
        Clip("grain", partial(_flat, level=110, noise=6.0)),
        *(Clip(f"texture-{speed}", partial(_texture, speed=speed)) for speed in (0, 2, 9)),
        Clip("zoom", _zoom),
        Clip("screen", _screen),
        Clip("cartoon", _cartoon),
        Clip("cuts", _cuts),
        *(Clip(f"performer-{face}", partial(_performer, face=face)) for face in (120, 250, 450)),
    ]


def filed_clips(folders: list[Path]) -> list[Clip]:
    """A clip for each video and each photo in the folders."""
    files = sorted(path for folder in folders for path in folder.iterdir())
    videos = [Clip(path.stem, partial(_video, path=path)) for path in files if path.suffix in VIDEO_SUFFIXES]
    photos = [Clip(path.stem, partial(_photo, path=path)) for path in files if path.suffix in PHOTO_SUFFIXES]
    return videos + photos


def _flat(frames: int, *, level: int, noise: float) -> Iterator[Luma]:
    rng = np.random.default_rng(1)
    for _ in range(frames):
        yield _bytes(level + noise * rng.standard_normal((HEIGHT, WIDTH), np.float32))


def _gradient(frames: int) -> Iterator[Luma]:
    rng = np.random.default_rng(2)
    x, y = np.meshgrid(np.linspace(0, 1, WIDTH), np.linspace(0, 1, HEIGHT))
    for number in range(frames):
        light = 120 + 90 * np.sin(2 * (x + y) + number / 40)
        yield _bytes(light + rng.standard_normal((HEIGHT, WIDTH), np.float32))


def _texture(frames: int, *, speed: int) -> Iterator[Luma]:
    """Detail of all sizes, as nature has it, moved by so many pixels a picture, under a camera's noise."""
    rng = np.random.default_rng(3)
    wide = _fractal(HEIGHT, 2 * WIDTH, rng)
    for number in range(frames):
        shown = np.roll(wide, -speed * number, axis=1)[:, :WIDTH]
        yield _bytes(shown + 1.2 * rng.standard_normal((HEIGHT, WIDTH), np.float32))


def _zoom(frames: int) -> Iterator[Luma]:
    rng = np.random.default_rng(4)
    still = _fractal(HEIGHT, WIDTH, rng).astype(np.float32)
    for number in range(frames):
        scale = 1.3 + 0.3 * np.sin(number / 30)
        turn = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), 3 * np.sin(number / 50), scale)
        yield _bytes(cv2.warpAffine(still, turn, (WIDTH, HEIGHT)))


def _screen(frames: int) -> Iterator[Luma]:
    """A page of text that is scrolled now and then."""
    rng = np.random.default_rng(5)
    page = np.full((3 * HEIGHT, WIDTH), 240, np.uint8)
    words = ["".join(chr(97 + c) for c in rng.integers(0, 26, n)) for n in rng.integers(2, 10, 400)]
    for row in range(20, 3 * HEIGHT, 26):
        cv2.putText(page, " ".join(rng.choice(words, 14)), (30, row), cv2.FONT_HERSHEY_SIMPLEX, 0.6, 25, 1)
    for number in range(frames):
        top = (number // 45) * 26 * 4 % (2 * HEIGHT)
        yield page[top : top + HEIGHT].copy()


def _cartoon(frames: int) -> Iterator[Luma]:
    """Even shapes that move over an even ground."""
    rng = np.random.default_rng(6)
    shapes = [
        (rng.integers(0, WIDTH), rng.integers(0, HEIGHT), rng.integers(40, 160), rng.integers(20, 235))
        for _ in range(14)
    ]
    for number in range(frames):
        picture = np.full((HEIGHT, WIDTH), 150, np.uint8)
        for i, (x, y, radius, level) in enumerate(shapes):
            at = int(x + 80 * np.sin(number / 25 + i)), int(y + 60 * np.cos(number / 30 + i))
            cv2.circle(picture, at, int(radius), int(level), -1, cv2.LINE_AA)
        yield picture


def _cuts(frames: int) -> Iterator[Luma]:
    """Another scene each second."""
    rng = np.random.default_rng(7)
    scenes = [_fractal(HEIGHT, WIDTH, rng) * gain + shift for gain, shift in ((1, 0), (0.5, 20), (0.4, 130))]
    for number in range(frames):
        shown = scenes[number // FPS % len(scenes)]
        yield _bytes(np.roll(shown, number, axis=1) + rng.standard_normal((HEIGHT, WIDTH), np.float32))


def _performer(frames: int, *, face: int) -> Iterator[Luma]:
    options = PerformerOptions.parse(f"performer:?face={face}&seed=1&size={WIDTH}x{HEIGHT}")
    for start in range(0, frames, FPS):  # a second at a time: a picture takes 1.4 MB
        for shot in draw_reel(options, min(FPS, frames - start), first=start).shots:
            yield shot.luma


def _photo(frames: int, *, path: Path) -> Iterator[Luma]:
    rng = np.random.default_rng(8)
    image: Any = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_GRAYSCALE)
    scale = max(1600 / image.shape[1], 850 / image.shape[0])
    large = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    for number in range(frames):
        shift = np.array([[1, 0, -160 - 60 * np.sin(number / 40)], [0, 1, -60 - 20 * np.sin(number / 25)]])
        shown = cv2.warpAffine(large, shift, (WIDTH, HEIGHT))
        yield _bytes(shown + 1.2 * rng.standard_normal((HEIGHT, WIDTH), np.float32))


def _video(frames: int, *, path: Path) -> Iterator[Luma]:
    """The video from its beginning, and again when it is over."""
    given = 0
    while given < frames:
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                if given == frames:
                    return
                yield _wide(np.asarray(frame.to_ndarray(format="gray"), np.uint8))
                given += 1


def _wide(luma: Luma) -> Luma:
    height, width = luma.shape
    rows, columns = min(height, width * HEIGHT // WIDTH), min(width, height * WIDTH // HEIGHT)
    top, left = (height - rows) // 2, (width - columns) // 2
    cut = luma[top : top + rows, left : left + columns]
    return np.asarray(cv2.resize(cut, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def _fractal(height: int, width: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Noise whose strength falls with its frequency, as in photos: mean 120, deviation 45."""
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    spectrum = np.fft.rfft2(rng.standard_normal((height, width))) / np.maximum(np.hypot(fy, fx), 1 / width)
    field = np.fft.irfft2(spectrum, (height, width))
    return np.asarray(120 + 45 * (field - field.mean()) / field.std())


def _bytes(levels: Any) -> Luma:
    return np.asarray(np.clip(np.rint(levels), 0, 255), np.uint8)
