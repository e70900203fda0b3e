"""What is in front of a face stays there: found before anything is drawn, steady, and never without bound."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from livefusion.blend.occlusion import LONGEST_GAP_S, Occlusion
from livefusion.core.by_track import MOST_TRACKS
from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Region, Size
from livefusion.core.patch import Patch
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.testing.occluder import GREEN, GreenScreen
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

SIZE = Size(160, 120)
FACE, OTHER = Region(20, 30, 60, 60), Region(90, 30, 60, 60)
SKIN = (120, 110, 150)


def landmarks(region: Region) -> np.ndarray[Any, np.dtype[np.float32]]:
    """An upright grid of points over a region, the corners of the eyes level."""
    points = np.zeros((478, 3), np.float32)
    grid = np.linspace(0, 1, 478)
    points[:, 0] = region.x + region.width * grid
    points[:, 1] = region.y + region.height * np.abs(np.sin(grid * 40))
    points[33, :2], points[263, :2] = (region.x + 15, region.y + 20), (region.x + 45, region.y + 20)
    return points


class ApartDevice(SimDevice):
    """The network has a stream of its own, as on a GPU; nothing has to be compiled."""

    @property
    def shares_host_memory(self) -> bool:
        return False


class Scene:
    """A picture with bars before faces, on a device, and what keeps them there."""

    def __init__(self, device: Device | None = None, faces: int = 1) -> None:
        self.device = device or CpuDevice()
        self.network = GreenScreen(self.device)
        self.occlusion = Occlusion(self.device, lambda: self.network, faces)
        self.stream = self.device.stream("render")
        self._pool = FramePool(self.device, SIZE, limit=4)
        self._seq = 0

    def frame(self, *bars: Region, seconds: float = 1 / 30) -> Frame:
        luma = np.full((SIZE.height, SIZE.width), SKIN[0], np.uint8)
        chroma = np.tile(np.array(SKIN[1:], np.uint8), (SIZE.height // 2, SIZE.width // 2, 1))
        for bar in bars:
            luma[bar.luma] = GREEN[0]
            chroma[bar.chroma] = GREEN[1:]
        buffer = self._pool.acquire(self.stream)
        self.device.copy(buffer.luma, luma, self.stream)
        self.device.copy(buffer.chroma, chroma, self.stream)
        self._seq += 1
        ts = Timestamp(round(self._seq * seconds * 3000), Fraction(1, 3000))
        return Frame(self._seq, "test", ts, 0, SIZE, ColorInfo(), buffer)

    def track(self, number: int = 1, region: Region = FACE) -> FaceTrack:
        box = Box(region.x, region.y, region.width, region.height)
        return FaceTrack(number, TrackState.SEEN, box, landmarks(region))

    def patch(self, region: Region = FACE) -> Patch:
        pixels = self.device.empty((region.height, region.width, 4), np.uint8)
        self.device.copy(pixels, np.full(pixels.shape, 255, np.uint8), self.stream)
        return Patch(region, pixels)

    def alpha(self, patch: Patch) -> np.ndarray[Any, np.dtype[np.uint8]]:
        found = np.empty(patch.pixels.shape, np.uint8)
        self.device.copy(found, patch.pixels, self.stream)
        self.stream.synchronize()
        return found[..., 3]

    def keep(self, frame: Frame, track: FaceTrack, most: float = 0.5) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Look at a frame and keep what is before one face; the alpha that is left."""
        self.occlusion.look(frame, [track], self.stream)
        patch = self.patch()
        self.occlusion.keep(patch, track, most, self.stream)
        return self.alpha(patch)


BAR = Region(20, 60, 60, 12)


def test_the_new_face_is_open_where_something_is_before_it() -> None:
    scene = Scene()
    alpha = scene.keep(scene.frame(BAR), scene.track())
    assert (alpha[34:38, 4:-4] == 0).all()
    assert (alpha[:24] == 255).all()
    assert (alpha[48:] == 255).all()


def test_before_a_free_face_nothing_changes() -> None:
    scene = Scene()
    assert (scene.keep(scene.frame(Region(0, 0, 20, 120)), scene.track()) == 255).all()


@pytest.mark.parametrize(("most", "drawn"), [(0.5, False), (0.1, True), (0.0, True)])
def test_no_more_than_a_share_is_kept(most: float, drawn: bool) -> None:
    scene = Scene()
    alpha = scene.keep(scene.frame(BAR), scene.track(), most)
    assert (alpha == 255).all() == drawn


def test_a_face_that_seems_to_be_all_covered_is_drawn_over_whole() -> None:
    scene = Scene()
    assert (scene.keep(scene.frame(Region(0, 0, 160, 120)), scene.track()) == 255).all()


def test_faces_are_seen_before_any_is_drawn() -> None:
    scene = Scene(faces=2)
    frame, tracks = scene.frame(BAR), [scene.track(1), scene.track(2, OTHER)]
    scene.occlusion.look(frame, tracks, scene.stream)
    frame.buffer.luma[...] = 16
    frame.buffer.chroma[...] = 128
    patches = [scene.patch(FACE), scene.patch(OTHER)]
    for patch, track in zip(patches, tracks, strict=True):
        scene.occlusion.keep(patch, track, 0.5, scene.stream)
    assert scene.alpha(patches[0]).min() == 0
    assert scene.alpha(patches[1]).min() == 255
    assert scene.network.runs == 2


def test_more_faces_than_expected_are_looked_at_too() -> None:
    scene = Scene()
    scene.keep(scene.frame(), scene.track())
    frame, tracks = scene.frame(Region(90, 60, 60, 12)), [scene.track(1), scene.track(2, OTHER)]
    scene.occlusion.look(frame, tracks, scene.stream)
    patch = scene.patch(OTHER)
    scene.occlusion.keep(patch, tracks[1], 0.5, scene.stream)
    assert scene.alpha(patch).min() == 0


def test_it_comes_at_once_and_goes_soon() -> None:
    scene = Scene()
    scene.keep(scene.frame(), scene.track())
    opened = [int(scene.keep(scene.frame(BAR), scene.track())[36, 30]) for _ in range(4)]
    closed = [int(scene.keep(scene.frame(), scene.track())[36, 30]) for _ in range(8)]
    assert opened[0] < 40
    assert opened[-1] == 0
    assert closed == sorted(closed)
    assert closed[0] < 255
    assert closed[-1] == 255


@pytest.mark.parametrize("jump", ["reset", "gap"])
def test_after_a_jump_nothing_is_remembered(jump: str) -> None:
    scene = Scene()
    for _ in range(3):
        scene.keep(scene.frame(BAR), scene.track())
    if jump == "reset":
        scene.occlusion.reset()
    seconds = 1 / 30 if jump == "reset" else LONGEST_GAP_S * 2
    assert (scene.keep(scene.frame(seconds=seconds), scene.track()) == 255).all()


def test_a_face_that_was_not_looked_at_is_drawn_over_whole() -> None:
    scene = Scene()
    scene.keep(scene.frame(BAR), scene.track())
    scene.occlusion.look(scene.frame(BAR), [], scene.stream)
    patch = scene.patch()
    scene.occlusion.keep(patch, scene.track(), 0.5, scene.stream)
    assert (scene.alpha(patch) == 255).all()


def test_new_tracks_do_not_inherit_and_old_ones_are_forgotten() -> None:
    scene = Scene()
    for number in range(MOST_TRACKS + 3):
        assert scene.keep(scene.frame(BAR), scene.track(number)).min() == 0
        assert (scene.keep(scene.frame(), scene.track(number + 1000)) == 255).all()


def test_warm_up_leaves_nothing_behind() -> None:
    scene = Scene()
    scene.occlusion.warm_up(scene.stream)
    assert scene.network.runs == 1
    assert (scene.keep(scene.frame(), scene.track()) == 255).all()


@pytest.mark.parametrize("seed", range(6))
def test_every_order_gives_the_same_alpha(seed: int) -> None:
    device = ApartDevice(seed, host_orders=False)
    scene, plain = Scene(device, faces=2), Scene()
    for bar in (BAR, BAR, Region(20, 40, 60, 10)):
        found = [one.keep(one.frame(bar), one.track()) for one in (scene, plain)]
        assert np.array_equal(*found)
    device.assert_no_races()


def test_every_wait_that_is_left_out_is_named() -> None:
    def run(**changed: Any) -> ApartDevice:
        device = ApartDevice(2, host_orders=False, **changed)
        scene = Scene(device)
        for _ in range(2):
            scene.keep(scene.frame(BAR), scene.track())
        device.synchronize()
        return device

    named = set()
    for wait in range(run().mutation.count):
        device = run(drop_wait=wait)
        if device.mutation.left_out:  # else it is the test's own
            assert device.races, device.mutation.left_out
            named.add(device.mutation.left_out)
    assert named == {f"inference/network.py:BoundNetwork._put_beside:{index}" for index in (0, 1)}
