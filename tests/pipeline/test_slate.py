"""Slates say what they are to say, and carry the watermark of the run and its epoch."""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import FrameMaker

from livefusion.core.errors import OutOfMemoryError
from livefusion.core.frame import Buffer, Frame, Outcome, RenderedFrame
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.pipeline import slate as slates
from livefusion.pipeline.slate import SlateShelf
from livefusion.provenance.badge import slate
from livefusion.provenance.chips import EPOCH_SECONDS, EPOCHS
from livefusion.testing.mark import FIXED_MARK, marked_slate

pytestmark = pytest.mark.unit


class Beside:
    """Work that would be done beside, done when told."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def __call__(self, work: Callable[[], object]) -> None:
        self.waiting.append(work)

    def do(self) -> int:
        work, self.waiting = self.waiting, []
        for one in work:
            one()
        return len(work)


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Beside:
    fake = Beside()
    monkeypatch.setattr(slates, "run_beside", fake)
    return fake


def at(make_frame: FrameMaker, seconds: float) -> Frame:
    return replace(make_frame(), ts=Timestamp(round(seconds * 10), Fraction(1, 10)))


def marked_shelf(device: CpuDevice | None = None) -> SlateShelf:
    shelf = SlateShelf(device or CpuDevice())
    shelf.mark = FIXED_MARK
    return shelf


def shows(buffer: Buffer, frame: Frame, text: str = slates.SLATE_TEXT) -> bool:
    return np.array_equal(buffer.luma, marked_slate(frame, FIXED_MARK, text)) and np.array_equal(
        buffer.chroma, slate(frame.size, frame.color, text)[1]
    )


def test_without_a_mark_it_is_the_slate_to_the_byte(make_frame: FrameMaker, beside: Beside) -> None:
    shelf, frame = SlateShelf(CpuDevice()), make_frame()
    first = shelf.picture(frame)
    assert np.array_equal(first.luma, slate(frame.size, frame.color)[0])
    assert shelf.picture(at(make_frame, 3 * EPOCH_SECONDS)) is first
    assert not beside.waiting


def test_every_way_to_a_slate_gives_a_marked_one(make_frame: FrameMaker, beside: Beside) -> None:
    shelf, frame = marked_shelf(), make_frame()
    shown = RenderedFrame(frame, Outcome.SWAPPED)
    shelf.text = "Consent withdrawn"
    assert shows(shelf.picture(frame, "why"), frame, "why")
    assert shows(shelf.in_place_of(frame).frame.buffer, frame)
    for stand_in in (shelf.like(shown), shelf.host_like(shown)):
        assert stand_in.outcome is Outcome.SAFE
        assert shows(stand_in.frame.buffer, frame, shelf.text)


def test_a_mark_that_comes_into_force_is_on_the_next_slate(make_frame: FrameMaker, beside: Beside) -> None:
    shelf, frame = SlateShelf(CpuDevice()), make_frame()
    shelf.picture(frame)
    shelf.mark = FIXED_MARK
    assert shows(shelf.picture(frame), frame)


def test_each_epoch_has_its_own_drawn_once_and_beside(make_frame: FrameMaker, beside: Beside) -> None:
    shelf, first, later = marked_shelf(), at(make_frame, 0), at(make_frame, EPOCH_SECONDS)
    shelf.picture(first)
    for _ in range(3):
        assert shows(shelf.picture(later), first), "the former one is shown until the next is there"
    assert beside.do() == 1
    assert shows(shelf.picture(later), later)
    assert shows(shelf.picture(first), later), "an output that is behind does not turn it back"
    assert not beside.waiting


def test_media_time_may_begin_again(make_frame: FrameMaker, beside: Beside) -> None:
    shelf, first = marked_shelf(), at(make_frame, 0)
    shelf.picture(at(make_frame, 5 * EPOCH_SECONDS))
    shelf.picture(first)
    assert beside.do() == 1
    assert shows(shelf.picture(first), first)


def test_a_file_waits_for_the_slate_of_its_epoch(make_frame: FrameMaker, beside: Beside) -> None:
    shelf = marked_shelf()
    shelf.patient = True
    for seconds in (0, EPOCH_SECONDS, EPOCHS * EPOCH_SECONDS - 1, 0):
        frame = at(make_frame, seconds)
        assert shows(shelf.picture(frame), frame)
    assert not beside.waiting


def test_a_file_is_not_ended_by_slates_that_are_all_in_use(make_frame: FrameMaker, beside: Beside) -> None:
    shelf = marked_shelf()
    shelf.patient = True
    held = [shelf.picture(at(make_frame, number * EPOCH_SECONDS)) for number in range(6)]
    assert len(held) == 6


def test_what_is_prepared_is_there(
    make_frame: FrameMaker, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, frame = marked_shelf(), make_frame()
    shelf.prepare(frame.size, frame.color)
    monkeypatch.setattr(slates, "slate", None)  # nothing can be drawn any more
    shown = RenderedFrame(frame, Outcome.SWAPPED)
    for stand_in in (shelf.like(shown), shelf.host_like(shown)):
        assert shows(stand_in.frame.buffer, frame)


class FullDevice(CpuDevice):
    """A device whose memory runs out when it is told to."""

    full = False
    name = "full"

    def empty(self, shape: tuple[int, ...], dtype: object) -> object:
        if self.full:
            raise OutOfMemoryError("no memory left")
        return super().empty(shape, dtype)  # type: ignore[arg-type]


def test_where_the_next_one_has_no_room_the_former_one_stays(make_frame: FrameMaker, beside: Beside) -> None:
    device = FullDevice()
    shelf, first, later = marked_shelf(device), at(make_frame, 0), at(make_frame, EPOCH_SECONDS)
    shelf.picture(first)
    device.full = True
    shelf.picture(later)
    assert beside.do() == 1
    assert shows(shelf.picture(later), first)
    assert not beside.waiting, "it is tried once an epoch, not with each picture"


def test_where_the_first_one_has_no_room_it_is_in_host_memory(make_frame: FrameMaker, beside: Beside) -> None:
    device = FullDevice()
    device.full = True
    shelf, frame = marked_shelf(device), make_frame()
    kept = shelf.picture(frame)
    assert kept.device == "cpu"
    assert shows(kept, frame)


def test_one_that_is_drawn_during_a_move_is_let_go_of(make_frame: FrameMaker, beside: Beside) -> None:
    shelf, first, later = marked_shelf(FullDevice()), at(make_frame, 0), at(make_frame, EPOCH_SECONDS)
    shelf.picture(first)
    shelf.picture(later)
    shelf.move(CpuDevice())
    beside.do()
    assert all(kind[0] == "cpu" for kind in shelf._kept)
    assert shows(shelf.picture(later), later)


def test_many_readers_at_an_epochs_end_see_whole_slates(make_frame: FrameMaker) -> None:
    """The thread beside is a real one: each picture is one of the two epochs, never a mix."""
    shelf, first, later = marked_shelf(), at(make_frame, 0), at(make_frame, EPOCH_SECONDS)
    shelf.picture(first)
    end = time.monotonic() + 20
    while not shows(shelf.picture(later), later):
        assert shows(shelf.picture(later), first) or shows(shelf.picture(later), later)
        assert time.monotonic() < end
