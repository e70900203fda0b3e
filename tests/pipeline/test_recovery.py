"""Each device error takes the step that is due, and no step is taken twice for one cause."""

import logging
from typing import Any

import pytest

from livefusion.core.errors import DeviceError, DeviceLostError, GraphError, OutOfMemoryError
from livefusion.core.settings import FaceSettings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.select import Fallback, Selection
from livefusion.pipeline.recovery import FEWER_FACES, PICTURES, Recovery, device_fault
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.faults import FragileDevice

pytestmark = pytest.mark.unit

FREED, SAVED, CPU = "gpu with memory freed", "gpu with fewer pictures and faces", "cpu"
OOM = OutOfMemoryError("no memory left", "close programs")
LOST = DeviceLostError("the GPU is gone")
OTHER = DeviceError("the GPU is odd")


class Run:
    """A recovery on a scripted clock, and what it told the graph."""

    def __init__(self, name: str = "gpu", *, bound: bool = False, begun: bool = True) -> None:
        self.device = FragileDevice(name)
        self.clock = ScriptedClock()
        self.recovery = Recovery(Selection(self.device), self.clock, bound=bound)
        self.renewed: list[tuple[str, ...]] = []
        self.moved: list[str] = []
        self.recovery.connect(
            lambda *parts: self.renewed.append(parts), lambda device: self.moved.append(device.name)
        )
        if begun:
            self.recovery.begun("render")

    def meet(self, error: BaseException) -> bool:
        return self.recovery.meet("render", error, self.recovery.footing)

    @property
    def got(self) -> list[str]:
        return [one.got for one in self.recovery.fallbacks]


def behind(error: Exception) -> GraphError:
    """An error of the detector's thread, as the stage raises it."""
    fault = GraphError("the face detector failed")
    fault.__cause__ = error
    return fault


@pytest.mark.parametrize(
    ("errors", "minutes", "got", "last"),
    [
        ([OOM], 0, [FREED], True),
        ([OOM, OOM], 0, [FREED, SAVED], True),
        ([OOM, OOM, OOM], 0, [FREED, SAVED, CPU], True),
        ([behind(OOM)] * 3, 0, [FREED, SAVED, CPU], True),
        ([OOM, OOM, OOM], 2, [FREED], True),
        ([LOST], 0, [CPU], True),
        ([OOM, LOST], 0, [FREED, CPU], True),
        ([OTHER, OTHER], 0, [], False),
        ([OTHER, OTHER, OTHER], 0, [CPU], True),
        ([OTHER, OOM, OTHER], 0, [FREED], False),
        ([OTHER, OTHER, OTHER], 2, [], False),
        (
            [OOM] * 5,
            0,
            [FREED, SAVED, CPU, "cpu with memory freed", "cpu with fewer pictures and faces"],
            True,
        ),
        (
            [OOM] * 6,
            0,
            [FREED, SAVED, CPU, "cpu with memory freed", "cpu with fewer pictures and faces"],
            False,
        ),
        ([LOST, OTHER], 0, [CPU], False),
        ([RuntimeError("foreign")], 0, [], False),
    ],
)
def test_the_steps(errors: list[Exception], minutes: int, got: list[str], last: bool) -> None:
    run = Run()
    answers = []
    for error in errors:
        answers.append(run.meet(error))
        run.clock.advance(minutes * 60 * NANOSECONDS)
    assert run.got == got
    assert answers[-1] is last


@pytest.mark.parametrize(
    ("bound", "error", "got", "answer"),
    [
        (False, LOST, [CPU], True),
        (False, OTHER, [CPU], True),  # such as an ONNX Runtime that is not the one for CUDA
        (True, LOST, [], False),
        (True, OTHER, [], False),
        (True, OOM, [FREED], True),
    ],
)
def test_before_a_part_has_begun(bound: bool, error: DeviceError, got: list[str], answer: bool) -> None:
    run = Run(bound=bound, begun=False)
    assert run.meet(error) is answer
    assert run.got == got


def test_a_cpu_that_fails_otherwise_is_left_to_the_supervisor() -> None:
    run = Run("cpu")
    assert not run.meet(OTHER)
    assert run.got == []


def test_one_part_is_renewed_by_freeing_and_all_by_moving() -> None:
    run = Run()
    run.meet(OOM)
    run.meet(OOM)
    assert run.recovery.footing.frugal
    assert run.device.trimmed == 2
    run.meet(LOST)
    assert run.renewed == [("render",), (), ()]
    assert run.moved == ["cpu"]
    assert not run.recovery.footing.frugal
    assert run.recovery.device.name == "cpu"


def test_what_follows_from_one_loss_is_one_step() -> None:
    run = Run()
    former = run.recovery.footing
    assert run.meet(LOST)
    assert run.recovery.meet("analyse", LOST, former)
    assert run.recovery.meet("decode", OOM, former)
    assert run.got == [CPU]
    assert run.recovery.is_lost("gpu")
    assert not run.recovery.is_lost("cpu")


def test_a_lost_device_is_asked_for_nothing() -> None:
    run = Run()
    run.device.lost = True
    run.meet(LOST)
    run.recovery.free(run.device)
    assert run.device.trimmed == 0
    assert run.recovery.memory_peak == 3 * 2**20


def test_each_step_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            run.meet(OOM)
    assert [record.getMessage() for record in caplog.records] == [
        "render on gpu: no memory left; what is unused there is freed",
        "render on gpu: no memory left; there are fewer pictures and faces at once from now on",
        "render on gpu: no memory left; the run goes on with the CPU",
    ]


def test_less_memory_is_fewer_pictures_and_faces() -> None:
    run, settings = Run(), FaceSettings(max_faces=4)
    assert run.recovery.footing.pictures == PICTURES
    assert run.recovery.footing.faces(settings) is settings
    run.meet(OOM)
    run.meet(OOM)
    assert run.recovery.footing.pictures < PICTURES
    assert run.recovery.footing.faces(settings).max_faces == FEWER_FACES


def test_the_choice_of_the_device_comes_first_in_the_report() -> None:
    chosen = Fallback("cuda", "gpu", "there is no NVIDIA driver")
    recovery = Recovery(Selection(FragileDevice("gpu"), (chosen,)), ScriptedClock(), bound=False)
    recovery.meet("render", LOST, recovery.footing)
    assert recovery.fallbacks == (chosen, Fallback("gpu", "cpu", "render: the GPU is gone"))


@pytest.mark.parametrize(
    ("error", "fault"), [(None, None), (OOM, OOM), (behind(LOST), LOST), (behind(ValueError()), None)]
)
def test_the_device_error_behind_an_error(error: Any, fault: Any) -> None:
    assert device_fault(error) is fault
