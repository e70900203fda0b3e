"""Another face while the device fails: every stage that draws has it before a plan asks for it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from livefusion.core.errors import DeviceError, DeviceLostError, OutOfMemoryError
from livefusion.core.face import Identity
from livefusion.core.settings import FaceSettings, SafetySettings, SwapSettings
from livefusion.core.timing import SystemClock
from livefusion.devices.device import Device
from livefusion.devices.select import Selection
from livefusion.pipeline import engines
from livefusion.pipeline.recovery import Recovery
from livefusion.pipeline.render import RenderPlan
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import Stages
from livefusion.runtime.stage import StageContext
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.testing.faults import FragileDevice

pytestmark = pytest.mark.unit

CONTEXT = StageContext("render", SystemClock())


class Engine(MeshEngine):
    """Notes what it gets ready; raises or does something else first when told to."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.device = device
        self.ready: list[Identity] = []
        self.errors: list[DeviceError] = []
        self.before: Callable[[], None] = lambda: None
        Engine.made.append(self)

    made: list["Engine"] = []  # noqa: RUF012 emptied for each test

    def prepare(self, identity: Identity) -> None:
        self.before()
        if self.errors:
            raise self.errors.pop()
        self.ready.append(identity)

    def warm_up(self) -> None:
        pass


class Rig:
    """The render stage, open on a device that may fail, and another face to be put on."""

    def __init__(self, identity: Identity) -> None:
        self.first, self.next = identity, replace(identity)
        device = FragileDevice("gpu")
        self.recovery = Recovery(Selection(device), SystemClock(), bound=False)
        plan = RenderPlan(self.first, SwapSettings(), SafetySettings())
        self.stages = Stages(self.recovery, SlateShelf(device), FaceSettings(), lambda: plan, patient=False)
        self.stage = self.stages.render()
        self.stage.open(CONTEXT)
        (self.engine,) = Engine.made

    def reopen(self) -> None:
        self.stage.close()
        self.stage.open(CONTEXT)


@pytest.fixture
def rig(identity: Identity, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(engines, "MeshEngine", Engine)
    Engine.made.clear()
    return Rig(identity)


def test_the_engine_at_work_has_it_first(rig: Rig) -> None:
    rig.stages.prepare(rig.next)
    assert rig.engine.ready == [rig.first, rig.next]


@pytest.mark.parametrize(
    ("errors", "device", "tries"),
    [
        ([OutOfMemoryError("none left")], "gpu", 1),
        ([OutOfMemoryError("none left")] * 2, "gpu", 1),
        ([DeviceLostError("gone")] * 2, "cpu", 0),
    ],
)
def test_a_device_that_fails_at_it_takes_a_step(
    rig: Rig, errors: list[DeviceError], device: str, tries: int
) -> None:
    rig.engine.errors = list(errors)
    rig.stages.prepare(rig.next)
    assert rig.recovery.device.name == device
    assert rig.engine.ready.count(rig.next) == tries
    rig.reopen()
    assert rig.next in Engine.made[-1].ready
    assert Engine.made[-1].device.name == device


def test_a_stage_that_is_made_anew_meanwhile_has_it_too(rig: Rig) -> None:
    """The former engine is ready with it after its successor was opened with the plan before."""

    def move() -> None:
        rig.engine.before = lambda: None
        rig.recovery.meet("render", DeviceLostError("gone"), rig.recovery.footing)
        rig.reopen()

    rig.engine.before = move
    rig.stages.prepare(rig.next)
    assert rig.next in Engine.made[-1].ready
    assert Engine.made[-1] is not rig.engine


def test_what_nothing_helps_against_is_raised_and_not_tried_again(rig: Rig) -> None:
    rig.engine.errors = [DeviceError("the GPU is odd")]
    with pytest.raises(DeviceError, match="odd"):
        rig.stages.prepare(rig.next)
    rig.recovery.meet("render", DeviceLostError("gone"), rig.recovery.footing)
    rig.reopen()
    assert Engine.made[-1].ready == [rig.first]
