"""The mesh engine on a device: where it draws, what it leaves open, what it refuses."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import GraphError
from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.swap.mesh.canonical import INNER_LIPS, LEFT_EYE, RIGHT_EYE
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.wardrobe import MOST_IDENTITIES

pytestmark = pytest.mark.unit

SIZE = Size(320, 240)
Posed = Callable[..., np.ndarray]
Tracked = Callable[[np.ndarray], FaceTrack]


class Rig:
    """An engine, a stream and an empty frame."""

    def __init__(self, color: ColorInfo | None = None) -> None:
        device = CpuDevice()
        self.stream = device.stream("render")
        self.engine = MeshEngine(device)
        buffer = FramePool(device, SIZE).acquire(self.stream)
        self.frame = Frame(0, "test", Timestamp(0, Fraction(1, 30)), 0, SIZE, color or ColorInfo(), buffer)

    def swap(self, track: FaceTrack, identity: Identity, shape: float = 0.5) -> Patch | None:
        return self.engine.swap(self.frame, track, identity, SwapSettings(shape=shape), self.stream)


@pytest.fixture
def rig(identity: Identity) -> Rig:
    rig = Rig()
    rig.engine.prepare(identity)
    return rig


def _alpha_at(patch: Patch, points: np.ndarray) -> np.ndarray:
    places = np.round(points[:, :2]).astype(int) - (patch.region.x, patch.region.y)
    return patch.pixels[places[:, 1], places[:, 0], 3]


def test_cheeks_are_covered_and_eyes_and_mouth_are_open(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    landmarks = posed()
    patch = rig.swap(tracked(landmarks), identity)
    assert (_alpha_at(patch, landmarks[[50, 280, 4, 195]]) == 255).all()
    middles = np.stack([landmarks[list(ring)].mean(axis=0) for ring in (RIGHT_EYE, LEFT_EYE)])
    assert (_alpha_at(patch, middles) == 0).all()


def test_an_open_mouth_shows_the_performers_own(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    landmarks = posed()
    landmarks[landmarks[:, 1] >= landmarks[14, 1], 1] += 20
    patch = rig.swap(tracked(landmarks), identity)
    between = landmarks[[13, 14]].mean(axis=0)[None]
    assert (_alpha_at(patch, between) == 0).all()
    assert patch.pixels[..., 3].max() == 255


def test_the_patch_fades_out_before_the_outline(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    patch = rig.swap(tracked(posed()), identity)
    alpha = patch.pixels[..., 3]
    assert max(alpha[0].max(), alpha[-1].max(), alpha[:, 0].max(), alpha[:, -1].max()) < 16
    # Neighbouring pixels never differ by a visible step, save at the lids and lips.
    assert np.abs(np.diff(alpha[-30:].astype(int), axis=0)).max() < 60


def test_colours_are_those_of_the_frame(identity: Identity, posed: Posed, tracked: Tracked) -> None:
    color = ColorInfo(Matrix.BT601, Range.FULL)
    rig = Rig(color)
    rig.engine.prepare(identity)
    patch = rig.swap(tracked(posed()), identity)
    solid = patch.pixels[..., 3] == 255
    assert np.abs(patch.pixels[solid][:, :3].astype(int) - (150, 128, 128)).max() <= 1


@pytest.mark.parametrize("yaw", [-35, -20, 20, 35])
def test_a_turned_head_has_no_hard_far_edge(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked, yaw: int
) -> None:
    patch = rig.swap(tracked(posed(yaw=yaw)), identity)
    assert max(patch.pixels[:, 0, 3].max(), patch.pixels[:, -1, 3].max()) < 110


def test_a_face_half_outside_is_cut_at_the_edge(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    patch = rig.swap(tracked(posed(centre=(0.0, 120.0))), identity)
    assert (patch.region.x, patch.region.x % 2, patch.region.width % 2) == (0, 0, 0)
    assert patch.pixels.shape == (patch.region.height, patch.region.width, 4)


def test_a_face_outside_gives_nothing(rig: Rig, identity: Identity, posed: Posed, tracked: Tracked) -> None:
    assert rig.swap(tracked(posed(centre=(-300.0, 120.0))), identity) is None


def test_memory_is_used_again(rig: Rig, identity: Identity, posed: Posed, tracked: Tracked) -> None:
    first = rig.swap(tracked(posed()), identity).pixels
    second = rig.swap(tracked(posed(height=168)), identity).pixels
    assert np.shares_memory(first, second)


def test_without_landmarks_or_preparation_it_refuses(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    track = tracked(posed())
    with pytest.raises(GraphError, match="landmarks"):
        rig.swap(replace(track, landmarks=None), identity)
    with pytest.raises(GraphError, match="prepared"):
        rig.swap(track, replace(identity, label="another object"))


def test_warm_up_leaves_the_engine_ready(identity: Identity, posed: Posed, tracked: Tracked) -> None:
    rig = Rig()
    rig.engine.warm_up()
    rig.engine.prepare(identity)
    assert rig.swap(tracked(posed()), identity) is not None


def test_the_mouth_is_no_part_of_what_is_drawn(rig: Rig, identity: Identity) -> None:
    drawn = rig.engine._wardrobe.find(identity).triangles
    assert not np.isin(drawn, INNER_LIPS).all(axis=1).any()


def test_an_identity_that_is_loaded_anew_leaves_the_former_one_ready(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    """The plan in force still has the former one when the next is made ready."""
    again = replace(identity)
    rig.engine.prepare(again)
    for one in (identity, again):
        assert rig.swap(tracked(posed()), one) is not None


def test_the_identity_that_was_chosen_last_does_not_make_room(
    rig: Rig, identity: Identity, posed: Posed, tracked: Tracked
) -> None:
    for _ in range(MOST_IDENTITIES):
        rig.engine.prepare(replace(identity))
        rig.engine.prepare(identity)
    assert rig.swap(tracked(posed()), identity) is not None
