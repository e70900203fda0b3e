"""The light of the scene on a new face: a flash at once, a steady scene steadily, no step at the border."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.blend.blender import Blender
from livefusion.blend.colour import ColourMatcher
from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Region, Size
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool

pytestmark = pytest.mark.unit

SIZE, REGION = Size(320, 320), Region(40, 40, 240, 240)
BLACK = 16
Floats = npt.NDArray[np.float64]

_y, _x = np.mgrid[0 : REGION.height, 0 : REGION.width].astype(np.float64)
AWAY = np.hypot((_x - 120) / 100, (_y - 120) / 110)
EYES = np.minimum(np.hypot(_x - 80, (_y - 100) * 2), np.hypot(_x - 160, (_y - 100) * 2)) < 16
INNER = (AWAY < 0.6) & ~EYES


def skin(seed: int, spread: float) -> Floats:
    """(240, 240) reflectance of a face in [0, 1]: soft patches and fine pores."""
    random = np.random.default_rng(seed)
    patches = np.kron(random.normal(0, 1, (6, 6)), np.ones((40, 40)))
    return np.asarray(0.55 + spread * (patches + random.normal(0, 0.5, patches.shape)))


def patch(luma: float = 150.0, chroma: tuple[int, int] = (112, 150)) -> Patch:
    """A new face with a soft edge and open eyes, in a light of its own."""
    pixels = np.zeros((REGION.height, REGION.width, 4), np.uint8)
    pixels[..., 0] = np.clip(BLACK + (luma - BLACK) * skin(1, 0.05) / 0.55, 0, 255)
    pixels[..., 1:3] = chroma
    pixels[..., 3] = np.where(EYES, 0, np.clip((1 - AWAY) / 0.12, 0, 1) * 255)
    pixels[AWAY > 1] = 0  # a rasteriser draws nothing out there
    return Patch(REGION, pixels)


def frame(
    exposure: float = 1.0, *, noise: float = 0.0, seed: int = 0, chroma: tuple[int, int] = (118, 142)
) -> Frame:
    """The performer before a grey wall, in a light that ``exposure`` scales."""
    device = CpuDevice()
    buffer = FramePool(device, SIZE).acquire(device.stream("test"))
    scene = np.full((SIZE.height, SIZE.width), 80.0)
    window = np.s_[REGION.y : REGION.y + REGION.height, REGION.x : REGION.x + REGION.width]
    scene[window] = np.where(AWAY < 1.1, 180 * skin(2, 0.05), 80)
    grain = np.random.default_rng(seed).normal(0, noise, scene.shape)
    buffer.luma[...] = np.clip(np.rint(BLACK + scene * exposure + grain), 0, 255)
    buffer.chroma[...] = chroma
    return Frame(0, "test", Timestamp(0, Fraction(1, 30)), 0, SIZE, ColorInfo(), buffer)


def window(picture: Frame) -> Floats:
    """The luma under the patch."""
    luma = picture.buffer.luma
    cut = luma[REGION.y : REGION.y + REGION.height, REGION.x : REGION.x + REGION.width]
    return np.asarray(cut, np.float64).copy()


def shown(blender: Blender, picture: Frame, face: Patch | None = None, relight: float = 0.8) -> Floats:
    """The luma under the patch, once it is blended in."""
    track = FaceTrack(1, TrackState.SEEN, Box(40, 40, 240, 240))
    swap = SwapSettings(grain=0.0, relight=relight)
    blender.blend(picture, face or patch(), track, swap, CpuDevice().stream("render"))
    return window(picture)


@pytest.fixture
def blender() -> Blender:
    return Blender(CpuDevice())


@pytest.mark.parametrize("relight", [0.8, 0.0])
@pytest.mark.parametrize("flash", [0.5, 0.7, 1.3, 1.6])
def test_a_flash_is_followed_in_its_own_picture_and_leaves_nothing(
    blender: Blender, flash: float, relight: float
) -> None:
    exposures = [0.6] * 15 + [0.6 * flash] * 2 + [0.6] * 4
    for seed, exposure in enumerate(exposures):
        picture = frame(exposure, noise=2, seed=seed)
        wanted = window(picture)[INNER].mean() - BLACK
        got = shown(blender, picture, relight=relight)[INNER].mean() - BLACK
        assert got == pytest.approx(wanted, rel=0.05), f"picture {seed}"


def test_coloured_flashes_are_followed_too(blender: Blender) -> None:
    for seed in range(10):
        shown(blender, frame(0.6, noise=2, seed=seed))
    flashed = frame(0.6, noise=2, chroma=(150, 120))
    shown(blender, flashed)
    cut = flashed.buffer.chroma[20 + 50 : 20 + 70, 20 + 50 : 20 + 70]
    assert np.abs(cut.mean(axis=(0, 1)) - (150, 120)).max() < 3


def test_a_steady_scene_flickers_less_than_its_noise() -> None:
    """The statistics move less from picture to picture than those of single pictures."""
    smooth, single = ColourMatcher(CpuDevice()), ColourMatcher(CpuDevice())
    stream, face = CpuDevice().stream("render"), patch()
    followed: list[float] = []
    fresh: list[float] = []
    for seed in range(40):
        exposure = 0.6 + 0.006 * np.random.default_rng(seed).normal()
        for matcher, rows in ((smooth, followed), (single, fresh)):
            picture = frame(exposure, noise=2, seed=seed)
            found = matcher.match(picture, face, 1, SwapSettings(), stream)
            rows.append(float(found["stats"][0, 2]))
        single.reset()
    calm, restless = (np.abs(np.diff(rows[15:])).mean() for rows in (followed, fresh))
    assert calm < 0.4 * restless


def test_statistics_are_forgotten_at_a_jump_and_kept_apart_by_track() -> None:
    matcher, stream = ColourMatcher(CpuDevice()), CpuDevice().stream("render")
    for seed in range(8):
        matcher.match(frame(0.6, noise=2, seed=seed), patch(), 1, SwapSettings(), stream)
    nearly = frame(0.61)
    level = window(nearly)[INNER].mean()
    before = float(matcher.match(nearly, patch(), 1, SwapSettings(), stream)["stats"][0, 2])
    other = float(matcher.match(nearly, patch(), 2, SwapSettings(), stream)["stats"][0, 2])
    matcher.reset()
    after = float(matcher.match(nearly, patch(), 1, SwapSettings(), stream)["stats"][0, 2])
    assert after == pytest.approx(other)
    assert abs(after - level) < abs(before - level)


def test_the_face_meets_the_frame_at_its_edge_without_any_relighting(blender: Blender) -> None:
    picture = frame(0.6)
    fall = np.linspace(1.3, 0.5, SIZE.width)[None, :]
    picture.buffer.luma[...] = np.clip(picture.buffer.luma * fall, 0, 255).astype(np.uint8)
    was = window(picture)
    now = shown(blender, picture, relight=0.0)
    for side in (_x < 50, _x > 190):
        rim = side & (AWAY > 0.86) & (AWAY < 0.95)
        plain = was[INNER].mean() - was[rim].mean()
        assert abs(now[rim].mean() - was[rim].mean()) < 0.5 * abs(plain)


def test_nothing_of_the_eyes_comes_back(blender: Blender) -> None:
    """Dark rings round the performer's eyes are features: the inner rim of a hole is no edge."""
    picture = frame(0.6)
    plain = shown(blender, frame(0.6))
    blender.reset()
    rings = (np.minimum(np.hypot(_x - 80, (_y - 100) * 2), np.hypot(_x - 160, (_y - 100) * 2)) < 30) & ~EYES
    luma = picture.buffer.luma[REGION.y : REGION.y + REGION.height, REGION.x : REGION.x + REGION.width]
    luma[rings] //= 2
    dark = window(picture)[rings].mean() - window(frame(0.6))[rings].mean()
    came = shown(blender, picture)[rings].mean() - plain[rings].mean()
    assert came > 0.45 * dark


def test_an_occluder_lends_no_colour(blender: Blender) -> None:
    """A red hand over the cheek, cut out of the alpha: the skin beside it stays what it was."""
    plain = frame(0.6)
    hand = (_x < 90) & (np.abs(_y - 150) < 45)
    shown(blender, plain)
    blender.reset()
    held = frame(0.6)
    spots = hand[::2, ::2]
    held.buffer.luma[REGION.y : REGION.y + REGION.height, REGION.x : REGION.x + REGION.width][hand] = 40
    held.buffer.chroma[20:140, 20:140][spots] = (90, 200)
    face = patch()
    face.pixels[hand, 3] = 0
    shown(blender, held, face)
    beside = (_x >= 92) & (_x < 110) & (np.abs(_y - 150) < 40)
    colour = held.buffer.chroma[20:140, 20:140][beside[::2, ::2]].mean(axis=0)
    assert np.abs(colour - (118, 142)).max() < 2
    assert abs(window(held)[beside].mean() - window(plain)[beside].mean()) < 4


@pytest.mark.parametrize(("exposure", "gamma"), [(0.12, 1.0), (0.25, 1.0), (0.6, 1.6), (1.15, 0.7)])
def test_dark_and_light_faces_are_not_clipped(blender: Blender, exposure: float, gamma: float) -> None:
    picture = frame()
    linear = np.clip((picture.buffer.luma.astype(np.float64) - BLACK) / 219 * exposure, 0, 1) ** gamma
    picture.buffer.luma[...] = np.rint(BLACK + 219 * linear).astype(np.uint8)
    was = window(picture)[INNER]
    face = patch()
    brows = (np.abs(_y - 75) < 5) & (np.abs(np.abs(_x - 120) - 40) < 22)
    face.pixels[brows, 0] = 70
    now = shown(blender, picture, face)[INNER]
    assert now.mean() - BLACK == pytest.approx(was.mean() - BLACK, rel=0.07, abs=1.5)
    assert np.mean(now <= BLACK) < 0.01
    assert np.mean(now >= 254) <= np.mean(was >= 254) + 0.01


def test_a_hard_edge_of_the_drawing_adds_no_light() -> None:
    """Beside what was drawn the patch has no colour, which must not be taken for a black one."""
    matcher, stream = ColourMatcher(CpuDevice()), CpuDevice().stream("render")
    face = patch(chroma=(118, 142))
    face.pixels[..., 3] = np.where((AWAY < 1) & ~EYES, 255, 0)
    face.pixels[face.pixels[..., 3] == 0] = 0
    found = matcher.match(frame(0.6), face, 1, SwapSettings(relight=1.0), stream)
    lit = found["light"][4:-4, 4:-4]
    assert np.abs(lit[..., 1:]).max() < 0.5
