"""Steadiness against lag, head pose, and cuts."""

import io

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.face import Landmarks
from livefusion.faces.cut import CutDetector
from livefusion.faces.pose import HeadPose, PoseEstimator, angles_of
from livefusion.faces.smooth import OneEuroFilter, OneEuroParameters
from livefusion.inference.registry import ModelRegistry

pytestmark = pytest.mark.unit

EYES = 137.0
WIDTH = 1.6 * EYES
NOISE = 0.17
"""Measured jitter of the landmarks at that eye distance, in pixels."""


def run(smoothing: float, path: npt.NDArray[np.floating], fps: float = 30) -> npt.NDArray[np.float64]:
    """The x of 100 points that follow ``path`` with noise: (frames, 100)."""
    rng = np.random.default_rng(7)
    smooth = OneEuroFilter(OneEuroParameters.of_smoothing(smoothing))
    shown = []
    for x in path:
        points = rng.normal(0, NOISE, (100, 3)).astype(np.float32)
        points[:, 0] += np.float32(x)
        shown.append(smooth(points, 1 / fps, WIDTH)[:, 0].astype(np.float64))
    return np.array(shown)


def test_still_face_is_calmer_the_more_it_is_smoothed() -> None:
    jitter = [run(s, np.zeros(120))[30:].std(axis=0).mean() for s in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert jitter == sorted(jitter, reverse=True)
    assert jitter[0] == pytest.approx(NOISE, rel=0.05)
    assert jitter[2] < 0.55 * NOISE


@pytest.mark.parametrize("speed", [0.1, 0.33, 1.0, 3.0])
def test_moving_face_trails_by_less_than_half_a_percent_of_the_eye_distance(speed: float) -> None:
    path = np.arange(90) * speed * WIDTH / 30
    lag = (path[:, None] - run(0.5, path))[30:].mean()
    assert 0 <= lag < 0.006 * EYES


def test_settings_hold_at_every_distance_and_rate() -> None:
    def jitter(scale: float, fps: float) -> float:
        rng = np.random.default_rng(7)
        smooth = OneEuroFilter(OneEuroParameters.of_smoothing(0.5))
        steps = (rng.normal(0, NOISE * scale, (50, 3)).astype(np.float32) for _ in range(200))
        shown = [smooth(step, 1 / fps, WIDTH * scale)[:, 0] / scale for step in steps]
        return float(np.array(shown)[50:].std(axis=0).mean())

    assert jitter(0.2, 30) == pytest.approx(jitter(5.0, 30), rel=0.05)
    assert jitter(1, 60) < jitter(1, 30)


def test_reset_and_time_that_stands_still_follow_at_once() -> None:
    smooth = OneEuroFilter(OneEuroParameters.of_smoothing(1))
    here, there = np.zeros((4, 3), np.float32), np.full((4, 3), 500, np.float32)
    smooth(here, 1 / 30, WIDTH)
    assert smooth(there, 0.0, WIDTH) == pytest.approx(there)
    smooth(here, 1 / 30, WIDTH)
    smooth.reset()
    assert smooth(there, 1 / 30, WIDTH) == pytest.approx(there)


def test_no_smoothing_returns_what_it_is_given() -> None:
    points: Landmarks = np.ones((4, 3), np.float32)
    assert OneEuroFilter(OneEuroParameters.of_smoothing(0))(points, 1 / 30, 1.0) is points


def turn(yaw: float, pitch: float, roll: float) -> npt.NDArray[np.float64]:
    a, b, c = np.radians([-yaw, -pitch, roll])
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    about_z = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    turned: npt.NDArray[np.float64] = about_z @ about_y @ about_x
    return turned


@pytest.mark.parametrize(
    ("yaw", "pitch", "roll"), [(0, 0, 0), (30, 0, 0), (-60, 10, 5), (0, -25, 0), (10, 10, 90), (-20, 5, -150)]
)
def test_pose_of_a_turned_canonical_face(yaw: float, pitch: float, roll: float) -> None:
    with np.load(io.BytesIO(ModelRegistry.load()["canonical_mesh"].read())) as arrays:
        vertices = arrays["vertices"] * np.array([1, -1, -1])
    points = np.zeros((478, 3), np.float32)
    points[:468] = vertices @ turn(yaw, pitch, roll).T * 12 + [300, 200, 0]
    pose = PoseEstimator(vertices)(points)
    assert (pose.yaw, pose.pitch, pose.roll) == pytest.approx((yaw, pitch, roll), abs=0.01)


def test_right_up_and_clockwise_are_positive() -> None:
    towards_camera = np.array([0, 0, -1.0])
    assert (turn(20, 0, 0) @ towards_camera)[0] > 0
    assert (turn(0, 20, 0) @ towards_camera)[1] < 0
    assert (turn(0, 0, 20) @ np.array([1.0, 0, 0]))[1] > 0
    assert angles_of(np.eye(3)) == HeadPose(0, 0, 0)


def scene(seed: int) -> npt.NDArray[np.float32]:
    blocks = np.random.default_rng(seed).uniform(20, 200, (9, 16)).astype(np.float32)
    return np.kron(blocks, np.ones((20, 20), np.float32))


def test_another_scene_is_a_cut_the_first_and_the_same_are_none() -> None:
    cuts = CutDetector()
    assert [cuts(scene(seed)) for seed in (1, 1, 1, 2, 2, 3, 4)] == [
        False,
        False,
        False,
        True,
        False,
        True,
        True,
    ]


def test_flash_lamp_and_noise_are_no_cuts() -> None:
    cuts = CutDetector()
    rng = np.random.default_rng(0)
    light = [1, 1, 1.8, 1, 0.4, 0.45, 1]
    shown = [
        np.clip(scene(1) * gain + rng.normal(0, 8, (180, 320)), 0, 255).astype(np.float32) for gain in light
    ]
    assert [cuts(picture) for picture in shown] == [False] * 7


def test_a_pan_does_not_trigger_all_the_time() -> None:
    cuts = CutDetector()
    wide = np.kron(np.random.default_rng(5).uniform(0, 255, (9, 200)), np.ones((20, 20))).astype(np.float32)
    found = [cuts(np.ascontiguousarray(wide[:, 12 * step : 12 * step + 320])) for step in range(60)]
    assert sum(found) <= 5


def test_black_to_picture_is_a_cut() -> None:
    cuts = CutDetector()
    cuts(np.zeros((180, 320), np.float32))
    assert cuts(scene(1))
    assert not cuts(scene(1))
