"""Blending a patch into a frame: colours, opacity, and every byte that must stay."""

from fractions import Fraction

import numpy as np
import pytest

from livefusion.blend.blender import Blender
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

SIZE, REGION = Size(96, 80), Region(20, 10, 40, 48)


def _frame(level: int, seed: int = 0, number: int = 0) -> Frame:
    device = CpuDevice()
    buffer = FramePool(device, SIZE).acquire(device.stream("test"))
    noise = np.random.default_rng(seed).integers(-9, 10, (80, 96))
    buffer.luma[...] = level + noise
    buffer.chroma[...] = (110, 150)
    return Frame(number, "test", Timestamp(0, Fraction(1, 30)), 0, SIZE, ColorInfo(), buffer)


def _patch(luma: int) -> Patch:
    pixels = np.zeros((REGION.height, REGION.width, 4), np.uint8)
    pixels[..., :3] = (luma, 128, 128)
    pixels[8:-8, 8:-8, 3] = 255
    return Patch(REGION, pixels)


def _track(number: int = 1) -> FaceTrack:
    return FaceTrack(number, TrackState.SEEN, Box(20, 10, 40, 48))


@pytest.fixture
def blender() -> Blender:
    return Blender(CpuDevice())


def _blend(blender: Blender, frame: Frame, patch: Patch, *, grain: float = 0.0, **settings: float) -> None:
    wanted = SwapSettings(grain=grain, **settings)
    blender.blend(frame, patch, _track(), wanted, CpuDevice().stream("render"))


def test_the_patch_takes_the_scenes_colours(blender: Blender) -> None:
    frame = _frame(170)
    _blend(blender, frame, _patch(60))
    inside = frame.buffer.luma[18:50, 28:52]
    assert abs(float(inside.mean()) - 170) < 2
    assert np.abs(frame.buffer.chroma[9:25, 14:26].astype(int) - (110, 150)).max() <= 2


def test_bytes_outside_the_alpha_stay(blender: Blender) -> None:
    frame = _frame(120)
    luma, chroma = frame.buffer.luma.copy(), frame.buffer.chroma.copy()
    _blend(blender, frame, _patch(200))
    changed = frame.buffer.luma != luma
    assert changed.any()
    changed[18:50, 28:52] = False
    assert not changed.any()
    differs = (frame.buffer.chroma != chroma).any(axis=-1)
    differs[9:25, 14:26] = False
    assert not differs.any()


def test_opacity_zero_changes_nothing(blender: Blender) -> None:
    frame = _frame(120)
    luma = frame.buffer.luma.copy()
    _blend(blender, frame, _patch(200), opacity=0.0)
    assert (frame.buffer.luma == luma).all()


def test_tracks_do_not_share_statistics(blender: Blender) -> None:
    stream = CpuDevice().stream("render")
    for _ in range(5):
        blender.blend(_frame(60), _patch(60), _track(1), SwapSettings(relight=0.0), stream)
    frame = _frame(200)
    blender.blend(frame, _patch(60), _track(2), SwapSettings(relight=0.0), stream)
    assert abs(float(frame.buffer.luma[18:50, 28:52].mean()) - 200) < 2


def test_paint_too_small_to_measure_keeps_its_colours(blender: Blender) -> None:
    frame = _frame(200)
    patch = _patch(60)
    patch.pixels[..., 3] = 0
    patch.pixels[10:12, 10:12, 3] = 255
    _blend(blender, frame, patch, relight=0.0, match_colour=False)
    assert (frame.buffer.luma[20:22, 30:32] == 60).all()


def test_warm_up_leaves_nothing_behind(blender: Blender) -> None:
    blender.warm_up()
    frame = _frame(170)
    _blend(blender, frame, _patch(60))
    assert abs(float(frame.buffer.luma[18:50, 28:52].mean()) - 170) < 2


@pytest.mark.parametrize(("relight", "reach"), [(0.0, 0), (0.25, 40)])
def test_paint_keeps_its_colours_but_for_the_light(blender: Blender, relight: float, reach: int) -> None:
    frame = _frame(170)
    _blend(blender, frame, _patch(60), relight=relight, match_colour=False)
    inside = frame.buffer.luma[18:50, 28:52].astype(int)
    assert inside.max() - 60 <= reach
    assert (inside > 60).any() == (relight > 0)


def _inside(frame: Frame) -> np.ndarray:
    return frame.buffer.luma[18:50, 28:52].astype(int)


@pytest.mark.parametrize(("grain", "least", "most"), [(0.0, 0.0, 0.5), (0.5, 1.8, 4), (1.0, 4, 7)])
def test_a_clean_patch_takes_the_grain_of_the_frame(
    blender: Blender, grain: float, least: float, most: float
) -> None:
    frame = _frame(120)
    noise = float(_inside(frame).std())
    assert 5 < noise < 6
    _blend(blender, frame, _patch(120), grain=grain)
    assert least <= float(_inside(frame).std()) <= most


def test_grain_is_the_same_in_a_replay_and_another_in_the_next_frame() -> None:
    shown = []
    for number in (4, 4, 5):
        frame = _frame(120, number=number)
        _blend(Blender(CpuDevice()), frame, _patch(120), grain=1.0)
        shown.append(_inside(frame))
    assert np.array_equal(shown[0], shown[1])
    assert (shown[0] != shown[2]).mean() > 0.5


def _stripes(sharpness: float) -> np.ndarray:
    """(40, 40) bars, steps or nearly a wave."""
    wave = np.tanh(sharpness * np.sin(np.arange(40) / 2.5))
    return np.broadcast_to(np.round(120 + 40 * wave / np.abs(wave).max()), (40, 40)).astype(np.uint8)


@pytest.mark.parametrize(("scene", "drawn", "softer"), [(0.3, 9, True), (9, 0.3, False), (9, 9, False)])
def test_a_patch_is_made_as_soft_as_the_frame_and_never_sharper(
    blender: Blender, scene: float, drawn: float, softer: bool
) -> None:
    frame, patch = _frame(120), _patch(120)
    frame.buffer.luma[14:54, 20:60] = _stripes(scene)
    patch.pixels[4:44, :, 0] = _stripes(drawn)
    before = patch.pixels.copy()
    _blend(blender, frame, patch, relight=0.0, match_colour=False)
    steepest = [
        int(np.abs(np.diff(p[8:-8, 8:-8, 0].astype(int), axis=1)).max()) for p in (before, patch.pixels)
    ]
    assert steepest[1] < 0.8 * steepest[0] if softer else np.array_equal(patch.pixels, before)
    assert np.array_equal(patch.pixels[..., 3], before[..., 3])


def test_a_jump_forgets_how_soft_the_picture_was(blender: Blender) -> None:
    for scene, jump in ((0.3, False), (9, True)):
        frame, patch = _frame(120), _patch(120)
        frame.buffer.luma[14:54, 20:60] = _stripes(scene)
        patch.pixels[4:44, :, 0] = _stripes(9)
        before = patch.pixels.copy()
        if jump:
            blender.reset()
        _blend(blender, frame, patch, relight=0.0, match_colour=False)
        assert np.array_equal(patch.pixels, before) == jump
