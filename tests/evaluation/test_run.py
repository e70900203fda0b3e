"""The graph as it is tapped: what goes in, what comes out, what was pasted between."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from livefusion.core.errors import InputError
from livefusion.core.frame import Outcome
from livefusion.core.geometry import Region
from livefusion.core.settings import Settings
from livefusion.evaluation.faces import FaceWatch
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.run import PairRun, Work
from livefusion.evaluation.sight import Sight
from livefusion.evaluation.still import NoisyStill
from livefusion.evaluation.tap import Pair
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene

pytestmark = pytest.mark.unit

URI = "performer:?size=320x240&face=110&seed=11"
FRAMES = 6


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """A short run of the performer."""
    with closing(iter(PairRun(Work(Settings(input=URI, duration=FRAMES / 30))))) as run:
        return list(run)


def _drawn(frame: int) -> Picture:
    scene = PerformerScene(PerformerOptions.parse(URI))
    luma, chroma = np.empty((240, 320), np.uint8), np.empty((120, 160, 2), np.uint8)
    scene.draw(frame, luma, chroma)
    return Picture(luma, chroma, scene.options.color)


def test_every_picture_comes_with_what_it_was_made_from(pairs: list[Pair]) -> None:
    assert [pair.seq for pair in pairs] == list(range(FRAMES))
    for seq in (0, FRAMES - 1):
        assert not pairs[seq].before.changed_from(_drawn(seq)).any()


def test_only_what_was_pasted_has_changed(pairs: list[Pair]) -> None:
    swapped = [pair for pair in pairs if pair.outcome is Outcome.SWAPPED]
    assert len(swapped) >= FRAMES - 1
    for pair in swapped:
        assert pair.pasted is not None
        assert len(pair.pasted) == 1
        changed, region = pair.after.changed_from(pair.before), pair.pasted[0].region
        assert changed[region.luma].mean() > 0.2
        changed[region.luma] = False
        assert not changed.any()  # no badge either


def test_a_picture_can_be_drawn_into_before_it_is_seen() -> None:
    def white(seq: int, picture: Picture) -> Picture | None:
        if seq != 1:
            return None
        return Picture(np.full_like(picture.luma, 235), np.full_like(picture.chroma, 128), picture.color)

    with closing(iter(PairRun(Work(Settings(input=URI, duration=3 / 30), change=white)))) as run:
        before = [pair.before.luma.min() for pair in run]
    assert [int(low) == 235 for low in before] == [False, True, False]


def test_a_picture_goes_in_when_the_last_one_was_looked_at() -> None:
    went_in: list[int] = []

    def watched(seq: int, picture: Picture) -> None:
        went_in.append(seq)

    with closing(iter(PairRun(Work(Settings(input=URI, duration=4 / 30), change=watched)))) as run:
        for pair in run:
            assert went_in == list(range(pair.seq + 1))


def test_a_run_can_be_left_early_and_reports() -> None:
    run = PairRun(Work(Settings(input=URI)))  # the performer has no end
    with closing(iter(run)) as pairs:
        next(pairs)
    assert run.report["frames"]["captured"] >= 1
    assert run.format is not None
    assert run.format.size.width == 320


def test_a_wrong_input_is_said() -> None:
    with pytest.raises(InputError, match=r"nothing\.mp4"):
        list(PairRun(Work(Settings(input="nothing.mp4"))))


def test_the_follower_keeps_the_number_of_a_face(pairs: list[Pair]) -> None:
    watch = FaceWatch(Sight())
    seen = [(pair, watch.seen(pair)) for pair in pairs]
    assert all(list(faces) == [0] for _, faces in seen)
    truth = PerformerScene(PerformerOptions.parse(URI)).truth(FRAMES - 1)[0]
    error = np.hypot(*(seen[-1][1][0].was[:, :2] - truth.landmarks[:, :2]).T).mean()
    assert error / truth.eye_distance < 0.03


def test_views_know_the_picture_before_but_not_the_one_before_that(pairs: list[Pair]) -> None:
    watch = FaceWatch(Sight())
    views = [view for pair in pairs for view in watch.views(pair, watch.seen(pair))]
    assert views[0].previous is None
    assert views[-1].previous is not None
    assert views[-1].previous.seq == views[-1].seq - 1
    assert views[-1].previous.previous is None
    assert views[-1].alpha is not None
    assert views[-1].alpha[views[-1].skin].mean() > 200


@pytest.mark.parametrize(
    ("covered", "seen"),
    [((), 1), ((Region(0, 0, 40, 40),), 1), ((Region(0, 0, 320, 240),), 0)],
)
def test_a_face_beside_a_covered_one_counts_and_a_covered_one_does_not(
    covered: tuple[Region, ...], seen: int, pairs: list[Pair]
) -> None:
    pair = replace(pairs[-1], outcome=Outcome.SAFE, covered=covered)
    watch = FaceWatch(Sight())
    assert len(watch.views(pair, watch.seen(pair))) == seen
    unknown = replace(pair, pasted=None)
    assert not watch.views(unknown, watch.seen(unknown))


def _still(picture: Picture, noise: float) -> Iterator[Pair]:
    make = partial(NoisyStill, picture, 4, noise=noise)
    with closing(iter(PairRun(Work(Settings(input="still"), source=make)))) as run:
        yield from run


def test_a_still_differs_by_its_noise_alone() -> None:
    picture = _drawn(0)
    first, second, *_ = (pair.before.luma.astype(float) for pair in _still(picture, 2.0))
    inner = (picture.luma > 30) & (picture.luma < 225)
    assert (first - second)[inner].std() == pytest.approx(2 * np.sqrt(2), rel=0.05)
    quiet = list(_still(picture, 0.0))
    assert not quiet[0].before.changed_from(quiet[3].before).any()
