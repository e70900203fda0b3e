"""All faces of a frame in one run, and finer faces of strided tiles, by the kernels of CUDA on the host."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.swap.neural.groups import Groups
from livefusion.swap.neural.verdict import Verdict
from livefusion.testing.host_twin import compiler
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.standins.check import StandinFolder
from livefusion.testing.standins.truth import truth
from livefusion.testing.twin_device import TwinDevice

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

SIZE = Size(640, 360)
NUMBERS = itertools.count()
PLACES = ((110.0, 110.0), (320.0, 110.0), (530.0, 110.0), (200.0, 260.0), (430.0, 260.0), (60.0, 270.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StandinFolder:
    return StandinFolder(tmp_path_factory.mktemp("standins"))


Tracks = Callable[[int], list[FaceTrack]]


@pytest.fixture
def faces(posed: Any) -> Tracks:
    """So many faces that touch none of the others."""

    def made(count: int) -> list[FaceTrack]:
        landmarks = [posed(90.0, place, yaw=6.0 * number) for number, place in enumerate(PLACES[:count])]
        return [
            FaceTrack(number, TrackState.SEEN, Box.around(mesh), mesh, age=9, quality=1.0)
            for number, mesh in enumerate(landmarks)
        ]

    return made


def picture(device: Device) -> Frame:
    """Noise of low frequency, the same each time."""
    rng, stream = np.random.default_rng(0), device.stream("source")
    buffer = FramePool(device, SIZE).acquire(stream)
    for plane in (buffer.luma, buffer.chroma):
        coarse = rng.integers(60, 190, (plane.shape[0] // 20, plane.shape[1] // 20, *plane.shape[2:]))
        fine = np.repeat(np.repeat(coarse, 20, axis=0), 20, axis=1).astype(np.uint8)
        device.copy(plane, fine, stream)
    ready = buffer.after(stream.record())
    return Frame(0, "noise", Timestamp(0, Fraction(1, 30)), 0, SIZE, ColorInfo(), ready)


@dataclass
class Made:
    """Patches of a frame in the place of the whole picture, (h, w, 4) each, and how often a network ran."""

    patches: list[np.ndarray]
    runs: int


class Counting(TwinDevice):
    """Notes how often networks run."""

    runs = 0

    def run(self, *work: Any, **more: Any) -> None:
        self.runs += 1
        super().run(*work, **more)


def swap_all(
    engine: NeuralEngine,
    device: Device,
    tracks: Sequence[FaceTrack],
    identities: Sequence[Identity],
    *,
    look: bool = True,
    weight: float = 0.5,
) -> Made:
    """All faces of one frame, each with its identity."""
    frame, stream = replace(picture(device), seq=next(NUMBERS)), device.stream("render")
    stream.wait(frame.buffer.ready)
    before = getattr(device, "runs", 0)
    if look:
        engine.look(frame, tracks)
    patches, settings = [], SwapSettings(identity_weight=weight)
    for track, identity in zip(tracks, identities, strict=True):
        patch = engine.swap(frame, track, identity, settings, stream)
        assert patch is not None
        host = device.pinned(patch.pixels.shape, np.uint8)
        device.copy(host, patch.pixels, stream)
        stream.synchronize()
        whole = np.zeros((SIZE.height, SIZE.width, 4), np.uint8)
        whole[patch.region.luma] = host
        patches.append(whole)
    return Made(patches, getattr(device, "runs", 0) - before)


def engine_on(
    device: Device, folder: StandinFolder, name: str, identities: Sequence[Identity], **more: Any
) -> NeuralEngine:
    """One that is ready."""
    one, many = truth(name), more.pop("many", True)
    engine = NeuralEngine(device, folder.swap(one, any_number=many), find=folder.finder(one), **more)
    engine.warm_up()
    for identity in identities:
        engine.prepare(identity)
    return engine


def far_apart(one: np.ndarray, other: np.ndarray) -> float:
    """Share of the pixels that both show where they are more than two levels apart."""
    shown = (one[..., 3] > 0) & (other[..., 3] > 0)
    assert shown.sum() > 2000
    return float((np.abs(one.astype(int) - other)[shown] > 2).mean())


# name, whether the batch axis is free, boost, faces, runs of the network for them
BATCHES = [
    ("inswapper_128", True, 1, 2, 1),
    ("inswapper_128", True, 1, 3, 2),
    ("inswapper_128", True, 1, 4, 1),
    ("inswapper_128", True, 1, 6, 2),
    ("inswapper_128", True, 2, 2, 1),
    ("inswapper_128", True, 3, 2, 2),
    ("inswapper_128", False, 1, 3, 3),
    ("inswapper_128", False, 2, 2, 8),
    ("inswapper_128_half", True, 1, 2, 1),
    ("hyperswap_256", True, 1, 2, 1),
    ("simswap_256", True, 1, 2, 1),
    ("ghost_256", True, 1, 2, 1),
    ("uniface_256", True, 1, 2, 1),
    ("dfm_320_morph", False, 1, 2, 2),
]


@pytest.mark.parametrize(("name", "many", "boost", "count", "runs"), BATCHES)
def test_all_faces_of_a_frame_in_one_run(
    name: str,
    many: bool,
    boost: int,
    count: int,
    runs: int,
    folder: StandinFolder,
    identity: Identity,
    faces: Tracks,
) -> None:
    tracks, worn = faces(count), [identity] * count
    device = Counting()
    engine = engine_on(device, folder, name, [identity], many=many, boost=boost, faces=count)
    together = swap_all(engine, device, tracks, worn)
    alone = swap_all(engine, device, tracks, worn, look=False)
    assert together.runs == runs
    assert alone.runs == count * (1 if many else boost * boost)
    assert engine.bad == 0
    cpu = CpuDevice()
    reference = engine_on(cpu, folder, name, [identity], many=many, boost=boost, faces=count)
    wanted = swap_all(reference, cpu, tracks, worn)
    for one, other, of_cpu in zip(together.patches, alone.patches, wanted.patches, strict=True):
        np.testing.assert_array_equal(one, other)
        assert far_apart(one, of_cpu) < 0.01


def test_each_face_has_an_identity_of_its_own_in_a_run(
    folder: StandinFolder, identity: Identity, faces: Tracks
) -> None:
    """By its weight against each performer; and where another face is asked for than for the first."""
    other = replace(identity, id="other", texture=255 - identity.texture)
    tracks, device = faces(4), Counting()
    engine = engine_on(device, folder, "inswapper_128", [identity, other], faces=4)
    for worn, weight in (([identity] * 4, 0.0), ([identity, other, identity, other], 0.5)):
        together = swap_all(engine, device, tracks, worn, weight=weight)
        alone = swap_all(engine, device, tracks, worn, look=False, weight=weight)
        for one, wanted in zip(together.patches, alone.patches, strict=True):
            np.testing.assert_array_equal(one, wanted)
    assert (together.patches[0] != swap_all(engine, device, tracks, [other] * 4).patches[0]).any()


def test_a_run_for_many_takes_no_memory_and_binds_nothing_once_it_is_warm(
    folder: StandinFolder, identity: Identity, faces: Tracks
) -> None:
    device = TwinDevice()
    engine = engine_on(device, folder, "inswapper_128", [identity], faces=4)
    bound: list[int] = []
    session = engine.session
    real = session.bind
    session.bind = lambda *one, **more: bound.append(1) or real(*one, **more)  # type: ignore[func-returns-value,method-assign]
    stream, frame, taken = device.stream("render"), picture(device), []
    for seq in range(12):
        tracks = faces(1 + seq % 6)
        now = replace(frame, seq=seq)
        engine.look(now, tracks)
        for track in tracks:
            engine.swap(now, track, identity, SwapSettings(), stream)
        taken.append(device.allocations)
    assert len(set(taken[6:])) == 1, taken
    assert not bound


@pytest.mark.parametrize("seed", range(3))
def test_runs_for_many_are_in_order_on_every_stream(
    seed: int, folder: StandinFolder, identity: Identity, faces: Tracks
) -> None:
    device = SimDevice(seed, kind="cuda")
    tracks, worn = faces(3), [identity] * 3
    engine = engine_on(device, folder, "inswapper_128", [identity], faces=4, boost=1 + seed % 2)
    together = swap_all(engine, device, tracks, worn)
    for one, wanted in zip(
        together.patches, swap_all(engine, device, tracks, worn, look=False).patches, strict=True
    ):
        np.testing.assert_array_equal(one, wanted)
    device.assert_no_races()


STRIDED = [
    *(("inswapper_128", boost, many) for boost in (2, 3, 4) for many in (True, False)),
    ("inswapper_128_half", 2, True),
    ("hyperswap_256", 2, True),
    ("dfm_224", 2, False),
    ("uniface_256", 2, True),
]


@pytest.mark.parametrize(("name", "boost", "many"), STRIDED)
def test_kernels_write_strided_tiles_as_the_cpu_copies_them(
    name: str, boost: int, many: bool, folder: StandinFolder, identity: Identity, posed: Any
) -> None:
    mesh = posed(300.0, (320.0, 180.0), yaw=10.0)
    track = FaceTrack(1, TrackState.SEEN, Box.around(mesh), mesh, age=9, quality=1.0)
    crops, patches = [], []
    for device in (CpuDevice(), TwinDevice()):
        engine = engine_on(device, folder, name, [identity], many=many, boost=boost)
        assert (engine._network._side_by_side is None) == isinstance(device, TwinDevice)
        patches += swap_all(engine, device, [track], [identity]).patches
        crops.append(np.array(device.to_host(engine._network.crop)))
    side = truth(name).size * boost
    assert crops[0].shape == crops[1].shape == (side, side, 4)
    off = np.abs(crops[0].astype(int) - crops[1])
    assert (off > 2).mean() < 0.005
    # Every tile as well as the others: one that is not written, or in the place of another, is told.
    tiles = [off[y::boost, x::boost].mean() for y in range(boost) for x in range(boost)]
    assert max(tiles) < 0.5
    assert crops[0][..., 3].max() == 255
    assert far_apart(*patches) < 0.01


def test_groups_are_of_the_sizes_that_there_are(faces: Tracks) -> None:
    frame, tracks = picture(CpuDevice()), faces(6)
    groups = Groups((4, 2, 1))
    assert groups.of(frame, tracks[0]) == (tracks[0],)
    for count, sizes in ((1, [1]), (2, [2]), (3, [2, 1]), (4, [4]), (5, [4, 1]), (6, [4, 2])):
        groups.look(frame, tracks[:count])
        found = [groups.of(frame, track) for track in tracks[:count]]
        distinct = [one for before, one in pairwise([(), *found]) if one is not before]
        assert [len(one) for one in distinct] == sizes
        assert sum(distinct, ()) == tuple(tracks[:count])
    assert groups.of(replace(frame, seq=7), tracks[0]) == (tracks[0],)
    assert Groups((1,)).most == 1


def test_verdicts_on_one_frame_are_not_waited_for_before_the_next() -> None:
    device = TwinDevice()
    stream, verdict = device.stream("render"), Verdict(device, "x", "")
    first = picture(device)
    bad = device.empty((1,), np.int32)
    waits: list[int] = []
    real = stream.record

    class Event:
        def __init__(self) -> None:
            self._event = real()

        def synchronize(self) -> None:
            waits.append(1)
            self._event.synchronize()

    stream.record = Event  # type: ignore[method-assign]
    for value in (1, 0, 1):
        device.copy(bad, np.array([value], np.int32), stream)
        assert verdict.note(bad, first, stream) is False
    assert (verdict.count, waits) == (0, [])
    verdict.note(bad, replace(first, seq=1), stream)
    assert (verdict.count, len(waits)) == (2, 3)
