"""What an output is given in place of pictures that cannot be read, and what is kept for it."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from conftest import FrameMaker

from livefusion.core.errors import DeviceLostError
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.select import Selection
from livefusion.media.sinks.memory import MemorySink
from livefusion.pipeline.recovery import Recovery
from livefusion.pipeline.sink_guard import SinkGuard
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.witness import Witness
from livefusion.provenance.badge import slate
from livefusion.runtime.stage import StageContext
from livefusion.testing.faults import FragileDevice

pytestmark = pytest.mark.unit


class Rig:
    """A guarded sink on a device that may be lost, with the slate on it drawn already."""

    def __init__(self, make_frame: FrameMaker) -> None:
        self.device = FragileDevice(shares_host_memory=False)
        self.recovery = Recovery(Selection(self.device), SystemClock(), bound=False)
        self.slates = SlateShelf(self.device)
        self.sink = MemorySink(self.device)
        self.guard = SinkGuard("sink", Witness(self.sink), self.recovery, self.slates)
        self.guard.open(StageContext("sink", SystemClock()))
        self.frame = make_frame()
        self.shown = self.slates.in_place_of(self.frame)  # lies on the device

    def lose(self) -> None:
        self.device.lost = True

    def shows_slate(self) -> bool:
        luma = slate(self.frame.size, self.frame.color)[0]
        return [np.array_equal(one.luma, luma) for one in self.sink.pictures] == [True]


def test_between_the_loss_and_the_move_it_shows_the_slate(make_frame: FrameMaker) -> None:
    """Others have noted the loss, and the shelf still keeps its slates on the lost device."""
    rig = Rig(make_frame)
    rig.lose()
    rig.recovery.lose(rig.device.name)
    rig.guard.write(rig.shown)
    assert rig.shows_slate()
    assert rig.sink.pictures[0].outcome is Outcome.SAFE


def test_the_one_that_finds_out_shows_the_slate(make_frame: FrameMaker) -> None:
    rig = Rig(make_frame)
    rig.lose()
    rig.guard.write(rig.shown)
    assert rig.shows_slate()
    assert rig.recovery.is_lost(rig.device.name)
    assert rig.recovery.device.name == "cpu"


def test_an_error_of_the_sink_itself_is_raised(make_frame: FrameMaker) -> None:
    rig = Rig(make_frame)

    def refuse(item: RenderedFrame) -> Any:
        raise DeviceLostError("the output's own GPU is gone")

    rig.sink.write = refuse  # type: ignore[method-assign]
    with pytest.raises(DeviceLostError):
        rig.guard.write(rig.shown)


def test_slates_of_a_device_that_was_left_are_let_go_of(make_frame: FrameMaker) -> None:
    device = FragileDevice()
    shelf = SlateShelf(device)
    frame = make_frame()
    kept = weakref.ref(shelf.picture(frame).home)
    shelf.move(CpuDevice())
    del device
    gc.collect()
    assert kept() is None
    assert shelf.picture(frame).device == "cpu"
