"""Skin that follows the performer's expression: what is mixed, when, and what it leaves alone."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_mesh_engine import SIZE, Rig, Tracked

from livefusion.core.color import ColorInfo
from livefusion.core.face import Expression, Identity
from livefusion.core.frame import Frame
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device, Operator, Stream
from livefusion.devices.pool import FramePool
from livefusion.media.sources.performer_photo import load_performer_photos
from livefusion.ops.registry import MIX_TEXELS
from livefusion.swap.mesh import engine as engine_module
from livefusion.swap.mesh.canonical import canonical_mesh
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.mesh.expression import EXPRESSIONS, POINTS, ExpressionReader, strength
from livefusion.swap.mesh.mimic import Mimic, known_of, mix_boxes
from livefusion.swap.mesh.texture import LEVEL_SIZES, to_levels
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

Posed = Callable[..., np.ndarray]
CHEEK = 205
"""A vertex in the fold of a smile."""


class Scripted:
    """Reads what it is told to see, and counts the looks."""

    def __init__(self) -> None:
        self.smile = 0.0
        self.looks = 0

    def __call__(self, _landmarks: np.ndarray) -> np.ndarray:
        self.looks += 1
        scores = np.zeros(52, np.float32)
        scores[list(EXPRESSIONS["smile"])] = self.smile
        return scores


class Counting(CpuDevice):
    """Counts the mixes."""

    def __init__(self) -> None:
        super().__init__()
        self.mixes = 0

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        self.mixes += operator is MIX_TEXELS
        super().launch(operator, arguments, stream)


def fold(shade: int = -60) -> np.ndarray:
    """A dark fold on one cheek."""
    delta = np.zeros((512, 512, 3), np.int8)
    x, y = np.round(canonical_mesh().texels(512)[CHEEK]).astype(int)
    delta[y - 12 : y + 12, x - 12 : x + 12] = shade
    return delta


@pytest.fixture
def smiling(identity: Identity) -> Identity:
    return replace(
        identity, expressions={"smile": Expression(fold(), 0.8, 0.1), "wink": Expression(fold(), 1)}
    )


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    made = Scripted()
    monkeypatch.setattr(engine_module, "ExpressionReader", lambda: made)
    return made


def cheek(rig: Rig, track: Any, identity: Identity, frames: int = 20, **settings: float) -> int:
    """Luma at the fold after some frames."""
    for _ in range(frames):
        patch = rig.engine.swap(rig.frame, track, identity, SwapSettings(shape=0, **settings), rig.stream)
    assert patch is not None
    x, y = np.round(track.landmarks[CHEEK, :2]).astype(int) - (patch.region.x, patch.region.y)
    return int(patch.pixels[y, x, 0])


def test_the_skin_folds_with_the_performer_and_unfolds(
    reader: Scripted, smiling: Identity, posed: Posed, tracked: Tracked
) -> None:
    rig, track = Rig(), tracked(posed())
    rig.engine.prepare(smiling)
    calm = cheek(rig, track, smiling)
    reader.smile = 0.8
    first, full = cheek(rig, track, smiling, 1), cheek(rig, track, smiling)
    assert calm - 60 < full < calm - 40
    assert full < first < calm
    reader.smile = 0.1
    assert cheek(rig, track, smiling) == calm


@pytest.mark.parametrize(("amount", "share"), [(0.0, 0.0), (0.5, 0.5)])
def test_as_much_as_is_wanted(
    reader: Scripted, smiling: Identity, posed: Posed, tracked: Tracked, amount: float, share: float
) -> None:
    rig, track = Rig(), tracked(posed())
    rig.engine.prepare(smiling)
    reader.smile = 0.8
    whole, some = cheek(rig, track, smiling), cheek(rig, track, smiling, expression=amount)
    reader.smile = 0.0
    calm = cheek(rig, track, smiling)
    assert calm - some == pytest.approx(share * (calm - whole), abs=1)


def test_nothing_is_looked_at_for_other_faces_or_if_not_wanted(
    reader: Scripted, identity: Identity, smiling: Identity, posed: Posed, tracked: Tracked
) -> None:
    rig, track = Rig(), tracked(posed())
    for face in (identity, smiling):
        rig.engine.prepare(face)
    cheek(rig, track, identity)
    cheek(rig, track, smiling, expression=0.0)
    assert reader.looks == 0


def test_what_is_no_longer_wanted_fades(
    reader: Scripted, smiling: Identity, posed: Posed, tracked: Tracked
) -> None:
    rig, track = Rig(), tracked(posed())
    two = replace(smiling, expressions={**smiling.expressions, "brows_up": Expression(fold(20), 0.9)})
    for face in (smiling, two):
        rig.engine.prepare(face)
    calm = cheek(rig, track, smiling)
    reader.smile = 0.8
    full = cheek(rig, track, smiling)
    looks = reader.looks
    assert full < cheek(rig, track, smiling, 1, expression=0.0) < calm
    assert cheek(rig, track, smiling, expression=0.0) == calm
    assert reader.looks == looks
    cheek(rig, track, smiling)
    assert cheek(rig, track, two, 1, expression=0.0) == calm


def test_a_face_that_holds_still_is_not_mixed_again(posed: Posed) -> None:
    device = Counting()
    stream, reader, landmarks = device.stream("render"), Scripted(), posed()
    base = to_levels(np.full((1024, 1024, 4), 150, np.uint8), ColorInfo(), device, stream)
    boxes = mix_boxes([Expression(fold(), 0.8)], ColorInfo(), device, stream)
    mimic = Mimic(device)
    counts = []
    for smile, level in ((0.0, 1), (0.8, 1), (0.8, 1), (0.8, 2), (0.0, 2)):
        reader.smile = smile
        for _ in range(20):
            mimic.follow(reader, landmarks, {"smile": (0.0, 0.8)}, 1.0)
            drawn = mimic.level(base[level], boxes[level], stream)
        counts.append(device.mixes)
        assert (drawn is base[level]) == (smile == 0)
        assert drawn.side == base[level].side
    still, risen, held, moved, fallen = counts
    assert still == 0
    assert 1 < risen < 20
    assert (held, moved) == (risen, risen + 1)
    assert fallen > moved


@pytest.mark.parametrize("seed", range(3))
def test_a_device_that_runs_late_draws_the_same(
    reader: Scripted, smiling: Identity, posed: Posed, tracked: Tracked, seed: int
) -> None:
    def drawn(device: Device) -> list[np.ndarray]:
        engine, stream, track = MeshEngine(device), device.stream("render"), tracked(posed())
        engine.prepare(smiling)
        buffer = FramePool(device, SIZE).acquire(stream)
        frame = Frame(0, "test", Timestamp(0, Fraction(1, 30)), 0, SIZE, ColorInfo(), buffer)
        pictures = []
        for reader.smile in (0.0, 0.5, 0.8, 0.8, 0.0):
            patch = engine.swap(frame, track, smiling, SwapSettings(), stream)
            assert patch is not None
            stream.record().synchronize()
            pictures.append(device.to_host(patch.pixels).copy())
        return pictures

    simulated = SimDevice(seed)
    for one, other in zip(drawn(simulated), drawn(CpuDevice()), strict=True):
        assert np.array_equal(one, other)
    assert list(simulated.races) == []


def test_boxes_hold_what_changes_and_no_more() -> None:
    device = CpuDevice()
    boxes = mix_boxes(
        [Expression(fold(), 1), Expression(fold(30), 1)], ColorInfo(), device, device.stream("s")
    )
    for side, box in zip(LEVEL_SIZES, boxes, strict=True):
        assert box is not None
        assert box.deltas.shape[0] // 2 <= side * 24 / 512 + 2
        assert (box.deltas[..., 3] == 0).all()
    still = Expression(np.zeros((512, 512, 3), np.int8), 1)
    assert mix_boxes([still], ColorInfo(), device, device.stream("s")) == [None] * len(LEVEL_SIZES)


def test_expressions_of_a_newer_file_are_left_out(smiling: Identity) -> None:
    assert known_of(smiling) == ("smile",)


def test_the_network_sees_a_smile() -> None:
    assert len(POINTS) == len(set(POINTS.tolist())) == 146
    scores = ExpressionReader()(load_performer_photos()[0].landmarks)
    assert scores.shape == (52,)
    assert strength(scores, "smile") > 0.6  # the performer smiles
    assert strength(scores, "open_mouth") < 0.3
