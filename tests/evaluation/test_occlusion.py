"""Occluders with known alpha, and the overlap of what is kept with them."""

import numpy as np
import pytest
from synthetic import SIDE, face, flat

from livefusion.core.geometry import Region
from livefusion.evaluation.occluders import KINDS, cover
from livefusion.evaluation.occlusion import OcclusionMeasure, Rehearsal, kept_iou
from livefusion.evaluation.tap import Pasted
from livefusion.evaluation.view import hull

pytestmark = pytest.mark.unit


def _box(left: int, right: int) -> np.ndarray:
    mask = np.zeros((100, 100), np.bool_)
    mask[:, left:right] = True
    return mask


@pytest.mark.parametrize(
    ("kept", "iou"),
    [
        (_box(20, 40), 1.0),  # exactly the occluder
        (_box(20, 30), 0.5),  # half of it
        (_box(20, 60), 0.5),  # as much again of the face
        (_box(40, 60), 0.0),  # something else
        (_box(0, 0), 0.0),  # nothing
        (_box(0, 100), 0.25),  # the whole face: nothing was swapped
    ],
)
def test_overlap(kept: np.ndarray, iou: float) -> None:
    assert kept_iou(_box(0, 80), _box(20, 40), kept) == pytest.approx(iou)


def test_an_occluder_beside_the_face_gives_no_figure() -> None:
    assert kept_iou(_box(0, 40), _box(50, 60), _box(50, 60)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_is_where_its_alpha_says(kind: str) -> None:
    picture = flat(200, 128, 128)
    covering = cover(kind, picture, face(), 12)
    changed = covering.picture.changed_from(picture)
    assert changed[covering.alpha > 200].mean() > 0.95
    untouched = covering.alpha.reshape(SIDE // 2, 2, SIDE // 2, 2).max(axis=(1, 3)) == 0
    assert not changed[untouched.repeat(2, axis=0).repeat(2, axis=1)].any()
    assert picture.luma.min() == 200
    box = hull(face(), 1.0).reshape(-1, 2)
    left, top = box.min(axis=0)
    right, bottom = box.max(axis=0)
    assert np.count_nonzero(covering.alpha[top:bottom, left:right] > 127) > 100


@pytest.mark.parametrize("kind", ["hair", "glasses"])
def test_what_hangs_on_the_head_moves_with_it(kind: str) -> None:
    still = cover(kind, flat(), face(), 0).alpha
    moved = cover(kind, flat(), face(shift=(20, 0)), 0).alpha
    np.testing.assert_array_equal(moved[:, 20:], still[:, :-20])


def _pasted(alpha: np.ndarray, reach: np.ndarray | None = None) -> tuple[Pasted, ...]:
    uncut = None if reach is None else reach.astype(np.uint8)
    return (Pasted(Region(0, 0, SIDE, SIDE), alpha.astype(np.uint8), uncut),)


def _measured(swap_knows: bool) -> OcclusionMeasure:
    """A swap over the whole picture that leaves the occluder out, or does not know of it."""
    rehearsal, whole = Rehearsal(3), np.full((SIDE, SIDE), 255)
    measure = OcclusionMeasure("glasses", rehearsal)
    for seq in range(3):
        rehearsal.note(seq, face(), _pasted(whole), flat())
        drawn = measure.draw(seq, flat())
        assert drawn is not None
        occluder = cover("glasses", flat(), face(), seq).alpha
        measure.add(seq, drawn, _pasted(255 - occluder if swap_knows else whole, whole), swapped=True)
    return measure


def test_a_mesh_that_moved_is_no_error_of_what_was_kept() -> None:
    rehearsal, whole = Rehearsal(1), np.full((SIDE, SIDE), 255, np.uint8)
    measure = OcclusionMeasure("glasses", rehearsal)
    rehearsal.note(0, face(), _pasted(whole), flat())
    drawn, occluder = measure.draw(0, flat()), cover("glasses", flat(), face(), 0).alpha
    assert drawn is not None
    reach = whole.copy()
    reach[: SIDE // 8] = 0
    cut = np.minimum(reach, 255 - occluder)
    measure.add(0, drawn, _pasted(cut, reach), swapped=True)
    assert measure.figures()["glasses"].mean == pytest.approx(1.0)


@pytest.mark.parametrize(("swap_knows", "iou"), [(True, 1.0), (False, 0.0)])
def test_a_swap_that_knows_and_one_that_does_not(swap_knows: bool, iou: float) -> None:
    figures = _measured(swap_knows).figures()
    assert figures["glasses"].mean == pytest.approx(iou, abs=0.02)
    assert figures["glasses"].count == 3


def test_a_face_that_was_covered_whole_counts_apart() -> None:
    rehearsal = Rehearsal(1)
    rehearsal.note(0, face(), _pasted(np.full((SIDE, SIDE), 255)), flat())
    measure = OcclusionMeasure("hair", rehearsal)
    assert measure.draw(7, flat()) is None
    drawn = measure.draw(0, flat())
    assert drawn is not None
    measure.add(0, drawn, (), swapped=False)
    figures = measure.figures()
    assert figures["hair"].reason == "the face was covered in every picture"
    assert figures["hair_covered"].mean == 1
