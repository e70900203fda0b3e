"""What is in front of a face over time, and how much of it is believed."""

import numpy as np
import pytest
from op_case import Arguments, body_of

from livefusion.core.geometry import Affine
from livefusion.devices.device import BodyKind
from livefusion.ops.reference.occlusion import ALL, NONE, credit
from livefusion.ops.registry import OCCLUDE, OCCLUSION_MATTE, OCCLUSION_TRACK

pytestmark = pytest.mark.unit

SIDE = 16
KINDS: tuple[BodyKind, ...] = ("reference", "cpu", "cuda")
each_kind = pytest.mark.parametrize("kind", KINDS)


def state() -> Arguments:
    return {
        "patch": np.full((SIDE, SIDE, 4), 255, np.uint8),
        "to_crop": Affine([[1, 0, 0], [0, 1, 0]]),
        "outline": np.array([(row, 0, SIDE - 1) for row in range(SIDE)], np.uint8),
        "belief": np.zeros((SIDE, SIDE), np.float32),
        "cover": np.zeros((SIDE, SIDE), np.uint8),
        "share": np.zeros(1, np.float32),
    }


def track(kind: BodyKind, memory: Arguments, found: float, **changed: float) -> None:
    speed = {"rise": 0.7, "fall": 0.4, "band": 0.15} | changed
    body_of(OCCLUSION_TRACK, kind)(found=np.full((SIDE, SIDE), found, np.float32), **memory, **speed)


@each_kind
def test_it_comes_faster_than_it_goes(kind: BodyKind) -> None:
    memory = state()
    track(kind, memory, 1.0)
    come = float(memory["belief"][0, 0])
    track(kind, memory, 1.0, rise=1.0, band=0.0)
    track(kind, memory, 0.0)
    assert come > 1 - float(memory["belief"][0, 0])


@each_kind
def test_a_flicker_round_the_threshold_moves_nothing(kind: BodyKind) -> None:
    memory = state()
    levels = []
    for turn in range(40):
        track(kind, memory, 0.5 + 0.12 * (-1) ** turn)
        levels.append(int(memory["cover"][3, 3]))
    assert len(set(levels[-20:])) == 1


@each_kind
@pytest.mark.parametrize(("found", "share"), [(1.0, 1.0), (0.0, 0.0), (float("nan"), 0.0)])
def test_what_stays_long_is_believed_wholly(kind: BodyKind, found: float, share: float) -> None:
    memory = state()
    memory["belief"][...] = 0.5
    for _ in range(30):
        track(kind, memory, found)
    assert memory["share"][0] == share
    assert np.isfinite(memory["belief"]).all()


@each_kind
def test_the_share_is_that_of_the_patch_and_not_of_the_crop(kind: BodyKind) -> None:
    memory, found = state(), np.zeros((SIDE, SIDE), np.float32)
    found[:, : SIDE // 2] = 1
    memory["patch"][:, SIDE // 4 :, 3] = 0
    body_of(OCCLUSION_TRACK, kind)(found=found, **memory, rise=1.0, fall=1.0, band=0.0)
    assert memory["share"][0] == 1
    memory["patch"][:, : SIDE // 4, 3] = 0
    memory["patch"][:, SIDE // 4 :, 3] = 200
    body_of(OCCLUSION_TRACK, kind)(found=found, **memory, rise=1.0, fall=1.0, band=0.0)
    assert memory["share"][0] == pytest.approx(1 / 3)


@each_kind
def test_beyond_the_face_counts_what_was_found_at_its_edge(kind: BodyKind) -> None:
    memory, found = state(), np.zeros((SIDE, SIDE), np.float32)
    memory["outline"][...] = (5, 4, 9)
    found[5, 4], found[:, 12:] = 1, 1
    body_of(OCCLUSION_TRACK, kind)(found=found, **memory, rise=1.0, fall=1.0, band=0.0)
    assert (memory["cover"][:, :5] == 255).all()
    assert (memory["cover"][:, 5:] == 0).all()


@each_kind
def test_a_crop_that_cannot_be_counted_in_bytes_is_refused(kind: BodyKind) -> None:
    wide = np.zeros((4, 257), np.float32)
    memory = state() | {"cover": wide.astype(np.uint8), "belief": wide.copy()}
    with pytest.raises(ValueError, match="257"):
        body_of(OCCLUSION_TRACK, kind)(found=wide, **memory, rise=1.0, fall=1.0, band=0.0)


@pytest.mark.parametrize("most", [0.0, 0.1, 0.37, 0.5, 1.0])
def test_never_more_is_kept_than_may_be(most: float) -> None:
    shares = np.linspace(0, 1, 1001)
    kept = [share * credit(float(share), most) for share in shares]
    assert max(kept) <= most + 1e-9
    assert all(credit(float(share), most) == 1 for share in shares[shares <= most] if most)


@each_kind
@pytest.mark.parametrize("share", [0.7, 0.85, 1.0])
def test_a_face_that_seems_to_be_all_covered_is_drawn_over_whole(kind: BodyKind, share: float) -> None:
    memory = state()
    memory["cover"][...] = 255
    memory["share"][0] = share
    names = ("cover", "share", "to_crop", "patch")
    body_of(OCCLUDE, kind)(**{name: memory[name] for name in names}, most=0.5)
    assert (memory["patch"] == 255).all()


@each_kind
@pytest.mark.parametrize(("level", "alpha"), [(NONE, 255), ((NONE + ALL) / 2, 127), (ALL, 0)])
def test_alpha_falls_along_the_ramp(kind: BodyKind, level: float, alpha: int) -> None:
    memory = state()
    memory["cover"][...] = round(level)
    memory["share"][0] = 0.2
    names = ("cover", "share", "to_crop", "patch")
    body_of(OCCLUDE, kind)(**{name: memory[name] for name in names}, most=0.5)
    assert np.abs(memory["patch"][..., 3].astype(int) - alpha).max() <= 2
    assert (memory["patch"][..., :3] == 255).all()


def matte(kind: BodyKind, found: float | np.ndarray, thing: float, skin: float = 0.7) -> np.ndarray:
    """What is made of a crop whose left third is sure to be a thing, its right third sure to be skin, and in
    whose middle third, ``found`` with doubt, the colour changes half-way."""
    side = 48
    columns = np.arange(side)
    planes = np.tile(np.where(columns < side // 2, thing, skin).astype(np.float32), (3, side, 1))
    given = np.tile(np.select([columns < 16, columns < 32], [1.0, found], 0.0).astype(np.float32), (side, 1))
    made = np.full((side, side), np.nan, np.float32)
    body_of(OCCLUSION_MATTE, kind)(found=given, image=planes, matte=made)
    return made


@each_kind
@pytest.mark.parametrize("found", [0.3, 0.5, 0.7])
def test_in_doubt_a_pixel_goes_to_the_side_of_its_colour(kind: BodyKind, found: float) -> None:
    made = matte(kind, found, thing=0.2)
    assert (made[:, 16:24] > max(found, 0.5)).all()
    assert (made[:, 24:32] < min(found, 0.5)).all()


@each_kind
def test_where_both_sides_are_of_one_colour_nothing_is_moved(kind: BodyKind) -> None:
    assert np.abs(matte(kind, 0.4, thing=0.7)[:, 16:32] - 0.4).max() < 1e-3


@each_kind
@pytest.mark.parametrize("found", [0.0, 0.01, 0.99, 1.0])
def test_what_was_found_without_doubt_stays(kind: BodyKind, found: float) -> None:
    assert np.abs(matte(kind, found, thing=0.2)[:, 16:32] - found).max() < 1e-6


@each_kind
def test_a_bare_face_gets_nothing_in_front_of_it_by_its_colours(kind: BodyKind) -> None:
    """Where no pixel is surely covered, there is no colour to go to."""
    rng = np.random.default_rng(3)
    planes = rng.uniform(0, 1, (3, 48, 48)).astype(np.float32)
    found = rng.uniform(0, 0.15, (48, 48)).astype(np.float32)
    made = np.zeros_like(found)
    body_of(OCCLUSION_MATTE, kind)(found=found, image=planes, matte=made)
    assert made.max() < 0.4
