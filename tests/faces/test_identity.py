"""Persons bound to tracks: slow to change, never two tracks for one person."""

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.faces.embed import SAME_PERSON, cosine, unit
from livefusion.faces.identity import IdentityBinder

pytestmark = pytest.mark.unit


def look(person: int, noise: float = 0.5, seed: int = 0) -> npt.NDArray[np.float32]:
    """An embedding of a person; at noise 0.5 two of them have a cosine near 0.8."""
    rng = np.random.default_rng([person, seed])
    return unit(np.eye(128, dtype=np.float32)[person] + unit(rng.normal(size=128)) * np.float32(noise))


def test_persons_are_numbered_as_they_come_and_known_again() -> None:
    binder = IdentityBinder()
    assert binder.person_of(7) is None
    assert binder.observe(7, look(3)) == 0
    assert binder.observe(8, look(5)) == 1
    binder.forget(7)
    assert binder.person_of(7) is None
    assert binder.observe(9, look(3, seed=1)) == 0
    assert binder.switches == 0


def test_one_odd_look_changes_nothing_two_do() -> None:
    binder = IdentityBinder()
    binder.observe(1, look(0))
    binder.observe(2, look(1))
    assert binder.observe(1, look(1, seed=2)) == 0
    assert binder.observe(1, look(0, seed=3)) == 0
    assert binder.observe(1, look(1, seed=4)) == 0
    assert binder.observe(1, look(1, seed=5)) == 1
    assert binder.switches == 1
    assert binder.person_of(2) is None


def test_tracks_that_were_exchanged_are_put_right() -> None:
    binder = IdentityBinder()
    binder.observe(1, look(0))
    binder.observe(2, look(1))
    for seed in (1, 2):
        binder.observe(1, look(1, seed=seed))
        binder.observe(2, look(0, seed=seed))
    assert (binder.person_of(1), binder.person_of(2)) == (1, 0)


def test_a_stranger_needs_four_looks() -> None:
    binder = IdentityBinder()
    binder.observe(1, look(0))
    assert [binder.observe(1, look(9, seed=seed)) for seed in range(4)] == [0, 0, 0, 1]


def test_doubt_lasts_until_the_next_agreeing_look() -> None:
    binder = IdentityBinder()
    assert not binder.is_settled(1)
    binder.observe(1, look(0))
    assert binder.is_settled(1)
    binder.doubt(1)
    assert not binder.is_settled(1)
    binder.observe(1, look(0, seed=4))
    assert binder.is_settled(1)


def test_memory_is_bounded() -> None:
    binder = IdentityBinder(most_persons=3)
    assert [binder.observe(track, look(track)) for track in range(5)] == [0, 1, 2, None, None]


def test_unit_and_cosine() -> None:
    assert cosine(unit(np.float32([3, 4])), unit(np.float32([[3, 4]]))) == pytest.approx(1)
    assert cosine(look(0), look(1)) < SAME_PERSON < cosine(look(0), look(0, seed=1))
    assert np.isfinite(unit(np.zeros(128, np.float32))).all()
