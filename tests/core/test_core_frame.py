"""Frames, traces and events: values that travel."""

from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.events import Eos, Flush, Item
from livefusion.core.face import AnalysedFrame
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.core.trace import FrameTrace

pytestmark = pytest.mark.unit


class Pixels:
    """A buffer of which only the device is asked."""

    device = "cpu"
    luma: Any = None
    chroma: Any = None
    ready: Any = None

    def after(self, event: Any) -> "Pixels":
        return self


@pytest.fixture
def frame() -> Frame:
    return Frame(
        7, "cam", Timestamp(21, Fraction(1, 90)), 123, Size(640, 360), ColorInfo(), Pixels(), epoch=2
    )


def test_repr_names_number_time_size_and_device(frame: Frame) -> None:
    assert repr(frame) == "<Frame 7 pts=21 640x360 on cpu>"


def test_a_frame_is_immutable_and_keeps_its_trace_with_other_pixels(frame: Frame) -> None:
    with pytest.raises(FrozenInstanceError):
        frame.seq = 8  # type: ignore[misc]
    other = Pixels()
    assert frame.with_buffer(other).buffer is other
    assert frame.with_buffer(other).trace is frame.trace


def test_what_wraps_a_frame_is_an_item_with_the_same_numbers(frame: Frame) -> None:
    for item in (frame, AnalysedFrame(frame, ()), RenderedFrame(frame, Outcome.CLEAR)):
        assert isinstance(item, Item)
        assert (item.seq, item.epoch, item.captured_ns) == (7, 2, 123)
        assert item.trace is frame.trace
    assert not isinstance(Flush(3), Item)
    assert Eos() == Eos()


def test_a_forked_trace_goes_its_own_way() -> None:
    trace = FrameTrace()
    trace.add("decode", 1, 2)
    fork = trace.fork()
    fork.add("encode", 3, 4)
    assert list(trace) == [("decode", 1, 2)]
    assert list(fork) == [("decode", 1, 2), ("encode", 3, 4)]
