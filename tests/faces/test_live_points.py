"""Landmark networks of the user's in live pictures: what they see is where crops are aligned."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.core.alignment import five_points, points_of
from livefusion.core.color import ColorInfo
from livefusion.core.errors import ModelError
from livefusion.core.face import FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import FaceSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.devices.select import Selection
from livefusion.faces import build
from livefusion.faces.build import Networks, build_analyse_stage
from livefusion.faces.live_points import FARTHEST, LivePoints
from livefusion.faces.point_networks import SCHEMES
from livefusion.inference.catalog import inspect
from livefusion.inference.session import Session
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.recovery import Recovery
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import Stages
from livefusion.runtime.stage import StageContext
from livefusion.testing.face_standins import mask_standin
from livefusion.testing.host_twin import compiler
from livefusion.testing.point_standins import FIVE, fixed_landmarks_standin
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.standins.check import StandinFolder
from livefusion.testing.standins.truth import truth
from livefusion.testing.standins.whole import measure_whole

pytestmark = pytest.mark.unit

SIZE = Size(320, 240)
PERFORMER = PerformerOptions(face=230, seed=3, turn=8, seconds=0.2)


@pytest.fixture(scope="module")
def landmarks() -> np.ndarray:
    """(478, 3) of a performer of 150 pixels."""
    (face,) = PerformerScene(PerformerOptions(size=SIZE, face=150, seed=3, seconds=0.1)).truth(0)
    return np.asarray(face.landmarks, np.float32)


def seen(landmarks: np.ndarray, number: int = 1) -> FaceTrack:
    return FaceTrack(number, TrackState.SEEN, Box.around(landmarks[:468]), landmarks, quality=1.0)


def shares(track: FaceTrack, family: str, moved: tuple[float, float]) -> np.ndarray:
    """Where the five points lie in the crop of a network if it sees them ``moved`` by so many pixels."""
    scheme, (x, y) = SCHEMES[family], track.box.centre
    side = scheme.margin * max(track.box.width, track.box.height)
    assert track.landmarks is not None
    return (five_points(track.landmarks) + moved - (x, y)) / side + 0.5


def grey(device: Device) -> Frame:
    stream = device.stream("source")
    buffer = FramePool(device, SIZE).acquire(stream)
    for plane in (buffer.luma, buffer.chroma):
        device.copy(plane, np.full(plane.shape, 120, np.uint8), stream)
    ready = buffer.after(stream.record())
    return Frame(0, "grey", Timestamp(0, Fraction(1, 30)), 0, SIZE, ColorInfo(), ready)


def aligner(device: Device, path: Path, **more: Any) -> LivePoints:
    model = inspect(path)
    return LivePoints(device, model, Session(model.entry, device=device), device.stream("analyse"), **more)


def align(points: LivePoints, frame: Frame, *tracks: FaceTrack) -> Any:
    points._stream.wait(frame.buffer.ready)
    return points.align(frame, tracks)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("family", list(FIVE))
def test_points_are_those_that_the_network_sees(
    family: str, kind: str, tmp_path: Path, landmarks: np.ndarray
) -> None:
    if kind == "cuda" and compiler() is None:
        pytest.skip("no C++ compiler for the host twin")
    device: Any = CpuDevice() if kind == "cpu" else SimDevice(1, kind="cuda")
    first, other = seen(landmarks), seen(landmarks + np.float32([40, -8, 0]), 2)
    path = fixed_landmarks_standin(tmp_path / "x.onnx", family, shares(first, family, (3.0, -2.0)))
    points = aligner(device, path, faces=2)
    lost = replace(first, id=3, state=TrackState.PREDICTED)
    found = align(points, grey(device), first, lost, other)
    assert found[1] is None
    for track, five in ((first, found[0]), (other, found[2])):
        np.testing.assert_allclose(five, five_points(track.landmarks) + np.array([3.0, -2.0]), atol=0.1)
        assert points_of(replace(track, points=five)) is five
        np.testing.assert_array_equal(points_of(track), five_points(track.landmarks))
    assert points.astray == 0
    if isinstance(device, SimDevice):
        device.assert_no_races()


def test_a_correction_is_steady_and_goes_with_the_face(tmp_path: Path, landmarks: np.ndarray) -> None:
    device, track = CpuDevice(), seen(landmarks)
    eyes = float(np.linalg.norm(np.diff(five_points(landmarks)[:2], axis=0)))
    path = fixed_landmarks_standin(tmp_path / "x.onnx", "2dfan4", shares(track, "2dfan4", (4.0, 0.0)))
    frame = grey(device)
    for smoothing, step in ((0.0, 1.0), (1.0, 0.2)):
        points = aligner(device, path, smoothing=smoothing)
        first = align(points, frame, track)[0]
        # The box stays, so that the same is seen; the mesh moves by 2 pixels: what is seen is 2 nearer.
        moved = replace(track, landmarks=landmarks + np.float32([2, 0, 0]))
        later = align(points, frame, moved)[0]
        np.testing.assert_allclose(later - first, [[2 * (1 - step), 0]] * 5, atol=0.1)
    far = shares(track, "2dfan4", (1.2 * FARTHEST * eyes, 0.0))
    wild = fixed_landmarks_standin(tmp_path / "y.onnx", "2dfan4", far)
    points = aligner(device, wild)
    assert align(points, frame, track) == [None]
    assert points.astray == 1


@pytest.mark.parametrize("family", ["2dfan4", "2d106", "pipnet_98"])
def test_a_run_is_aligned_by_the_network(family: str, tmp_path: Path) -> None:
    """The whole graph: the new face lies where the network's points say, a tenth of an eye distance off."""
    folder, one, noor = StandinFolder(tmp_path), truth("ghost_256"), IdentityLibrary().load("noor")
    (face,) = PerformerScene(PERFORMER).truth(0)
    track = seen(np.asarray(face.landmarks, np.float32))
    path = fixed_landmarks_standin(tmp_path / "x.onnx", family, shares(track, family, (9.0, 6.0)))
    with_it = measure_whole(one, folder, noor, PERFORMER, faces=FaceSettings(landmarks=str(path)))
    without = measure_whole(one, folder, noor, PERFORMER)
    assert with_it.seen <= 1.0
    assert without.seen <= 1.0
    # From the face that the true landmarks would give: as far as the points were moved.
    assert with_it.allowed > 2.5 * without.allowed


def test_what_finds_no_landmarks_is_refused_before_anything_starts(tmp_path: Path) -> None:
    wrong = mask_standin(tmp_path / "x.onnx", "xseg")
    device = CpuDevice()
    recovery = Recovery(Selection(device), SystemClock(), bound=False)
    for chosen in (wrong, tmp_path / "gone.onnx"):
        with pytest.raises(ModelError):
            Stages(
                recovery,
                SlateShelf(device),
                FaceSettings(landmarks=str(chosen)),
                lambda: None,  # type: ignore[arg-type,return-value]
                patient=True,
            )


@pytest.mark.parametrize(("interval_s", "used"), [(None, True), (60.0, True), (1e-6, False)])
def test_live_one_that_takes_too_long_is_not_used(
    interval_s: float | None, used: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    device = CpuDevice()
    path = fixed_landmarks_standin(tmp_path / "slow.onnx", "2d106", np.full((5, 2), 0.5))
    networks = Networks(device)
    stage = build_analyse_stage(device, FaceSettings(landmarks=str(path)), networks, interval_s=interval_s)
    stage.open(StageContext("analyse", SystemClock()))
    assert ((stage._eyes and stage._eyes.points) is not None) == used
    stage.close()
    assert [one.wanted for one in networks.fallbacks] == ([] if used else ["slow"])
    assert ("crops are aligned by the built-in mesh" in caplog.text) != used
    assert build._MOST_OF_A_PICTURE < 0.5
