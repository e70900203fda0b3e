"""What moves to another device, what it leaves behind, and what the report says of it."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import FrameMaker

from livefusion.core.errors import DeviceError, DeviceLostError, GraphError, OutOfMemoryError
from livefusion.core.events import Event, FormatChange
from livefusion.core.frame import Frame, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.settings import Pace, Settings
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.select import CudaDoor, Fallback, Selection, open_device
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import MemorySink
from livefusion.media.sinks.null import NullSink
from livefusion.media.sources.file import FileSource
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline import assemble
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.movable_stage import REFUSED, MovableStage
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.recovery import Footing, Recovery
from livefusion.runtime.stage import StageContext
from livefusion.testing.faults import FaultBoard, FragileDevice, Mishap
from livefusion.testing.mark import fixed_mark
from livefusion.testing.performer_clip import render_clip

pytestmark = pytest.mark.media

FRAMES = 12
OOM = OutOfMemoryError("no memory left")
LOST = DeviceLostError("the GPU is gone")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "performer.mp4"
    render_clip(path, Size(320, 240), Fraction(30), 100, FRAMES / 30)
    return path


class ArmingSink(MemorySink):
    """Lets a call fail once it has taken its third picture."""

    def __init__(self, device: Device, arm: Callable[[], None]) -> None:
        super().__init__(device)
        self._arm = arm

    def write(self, item: RenderedFrame) -> None:
        super().write(item)
        if self.stats.frames == 3:
            self._arm()


@pytest.mark.parametrize("mishap", [Mishap.STARVED, Mishap.LOST])
@pytest.mark.parametrize("shares", [True, False])
def test_a_file_goes_on_where_it_was(shares: bool, mishap: Mishap, clip: Path) -> None:
    board = FaultBoard()
    device = FragileDevice(board=board, shares_host_memory=shares)
    work = "decode:decode" if shares else "decode:copy"
    sinks: list[ArmingSink] = []

    def make_sink(where: Device, form: OutputFormat) -> ArmingSink:
        sinks.append(ArmingSink(where, lambda: board.arm(work, mishap)))
        return sinks[0]

    parts = Parts(device=device, source=lambda where: FileSource(clip, where), sinks=[make_sink])
    report = run(Settings(input=str(clip), pace=Pace.FAST), parts)
    frames, (sink,) = report["frames"], sinks
    assert frames["captured"] == frames["delivered"] + sum(frames["dropped"].values()) == FRAMES - 1
    assert frames["raw"] == 0
    assert [one.seq for one in sink.pictures] == sorted({one.seq for one in sink.pictures})
    stamps = [one.ts.seconds for one in sink.pictures]
    assert stamps[-1] == pytest.approx((FRAMES - 1) / 30)
    assert not any(isinstance(event, FormatChange) for event in sink.events)
    assert len(report["device"]["fallbacks"]) == 1


def run(settings: Settings, parts: Parts) -> dict[str, Any]:
    pipeline = Pipeline(settings, parts=parts)
    try:
        pipeline.start()
        pipeline.wait(60)
    finally:
        pipeline.stop()
    return pipeline.report()


class Telling(NullSink):
    """A sink that could not have what it wanted."""

    fallbacks = (Fallback("nvenc", "x264", "this GPU has no encoder"),)


class TellingPerformer(PerformerSource):
    """A source that could not have what it wanted."""

    fallbacks = (Fallback("nvdec", "software", "this GPU cannot decode it"),)


URI = "performer:?size=320x240&face=100"


def test_the_report_names_the_device_and_all_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_without_driver(name: str) -> Selection:
        return open_device(name, CudaDoor(lambda: "there is no NVIDIA driver", lambda index: CpuDevice()))

    monkeypatch.setattr(assemble, "open_device", open_without_driver)
    parts = Parts(
        source=lambda where: TellingPerformer(URI, where, pace=Pace.FAST, duration=0.2),
        sinks=[lambda where, form: Telling()] * 2,
    )
    report = run(Settings(input=URI), parts)
    assert (report["device"]["name"], report["device"]["description"]) == ("cpu", "cpu")
    assert [(one["wanted"], one["got"]) for one in report["device"]["fallbacks"]] == [
        ("cuda", "cpu"),
        ("nvdec", "software"),
        ("nvenc", "x264"),
    ]
    assert "no NVIDIA driver" in report["device"]["fallbacks"][0]["reason"]
    assert report["memory"]["device_peak_mb"] == 0
    with pytest.raises(DeviceError, match="no NVIDIA driver"):
        Pipeline(Settings(input=URI, device="cuda"))


def test_two_runs_in_one_process_each_name_their_device() -> None:
    board = FaultBoard()
    devices = [FragileDevice("gpu:0", board), FragileDevice("gpu:1", board)]

    def parts(device: Device) -> Parts:
        return Parts(
            device=device,
            source=lambda where: PerformerSource(URI, where, pace=Pace.FAST, duration=0.4),
            sinks=[lambda where, form: MemorySink(where)],
            mark=fixed_mark,
        )

    runs = [Pipeline(Settings(input=URI, pace=Pace.FAST), parts=parts(device)) for device in devices]
    for one in runs:
        one.start()
    assert [one.progress().device for one in runs] == ["gpu:0", "gpu:1"]
    devices[1].lost = True
    for one in runs:
        one.wait(60)
        one.stop()
    reports = [one.report() for one in runs]
    assert [one["device"]["name"] for one in reports] == ["gpu:0", "cpu"]
    assert [len(one["device"]["fallbacks"]) for one in reports] == [0, 1]
    assert reports[0]["frames"]["swapped"] > 0
    assert [one["frames"]["delivered"] for one in reports] == [12, 12]
    assert [one["memory"]["device_peak_mb"] for one in reports] == [3, 3]


class Inner:
    """A stage that answers with its device's name, or raises."""

    def __init__(self, device: Device, log: list[str]) -> None:
        self.device = device
        self.log = log
        self.errors: dict[str, Exception] = {}

    def _do(self, what: str) -> Any:
        self.log.append(f"{what} {self.device.name}")
        if what in self.errors:
            raise self.errors[what]
        return f"{what} {self.device.name}"

    def open(self, context: StageContext) -> None:
        self._do("open")

    def process(self, item: Frame) -> Any:
        return self._do("process")

    def fallback(self, item: Frame, error: BaseException | None) -> Any:
        return self._do("fallback")

    def handle(self, event: Event) -> None:
        self._do("handle")

    def close(self) -> None:
        self._do("close")


class Movable:
    """A movable stage on a device called like that of the frames, which are the CPU's in truth."""

    def __init__(self, make_frame: FrameMaker, **options: Any) -> None:
        self.frame = make_frame()
        self.log: list[str] = []
        self.inner: list[Inner] = []
        self.recovery = Recovery(Selection(FragileDevice("cpu")), SystemClock(), bound=False)
        self.stage: MovableStage[Frame, Any] = MovableStage(
            "render", self.recovery, self._make, lambda frame: "stand-in", **options
        )
        self.stage.open(StageContext("render", SystemClock()))

    def _make(self, footing: Footing) -> Any:
        self.inner.append(Inner(footing.device, self.log))
        return self.inner[-1]

    def move_to(self, name: str) -> None:
        self.recovery.footing = Footing(FragileDevice(name))


def test_a_picture_of_another_device_is_not_touched(make_frame: FrameMaker) -> None:
    movable = Movable(make_frame)
    assert movable.stage.process(movable.frame) == "process cpu"
    movable.move_to("gpu")
    assert movable.stage.process(movable.frame) == "fallback cpu", "not moved yet: its own device covers it"
    movable.stage.close()
    movable.stage.open(StageContext("render", SystemClock()))
    assert movable.log[-2:] == ["close cpu", "open gpu"]
    assert movable.stage.process(movable.frame) == "stand-in"
    assert movable.stage.fallback(movable.frame, None) == "stand-in"


def test_a_picture_of_a_lost_device_is_not_touched(make_frame: FrameMaker) -> None:
    movable = Movable(make_frame)
    movable.recovery.lose("cpu")
    assert movable.stage.fallback(movable.frame, None) == "stand-in"


@pytest.mark.parametrize(
    ("second", "withholds", "made"),
    [(OOM, False, REFUSED), (OOM, True, "stand-in"), (None, False, "fallback cpu")],
)
def test_what_is_made_of_the_picture_that_failed(
    second: Exception | None, withholds: bool, made: Any, make_frame: FrameMaker
) -> None:
    movable = Movable(make_frame, withholds=withholds)
    movable.inner[0].errors = {"process": OOM} | ({"fallback": second} if second else {})
    assert movable.stage.process(movable.frame) == made
    movable.stage.close()
    movable.stage.open(StageContext("render", SystemClock()))
    assert len(movable.inner) == 2, "what has failed is made anew"


@pytest.mark.parametrize("error", [GraphError("our fault"), RuntimeError("foreign")])
def test_what_is_not_the_devices_fault_is_raised_and_nothing_made_anew(
    error: Exception, make_frame: FrameMaker
) -> None:
    movable = Movable(make_frame)
    movable.inner[0].errors = {"process": error, "fallback": error}
    with pytest.raises(type(error)):
        movable.stage.process(movable.frame)
    with pytest.raises(type(error)):
        movable.stage.fallback(movable.frame, error)
    movable.stage.close()
    movable.stage.open(StageContext("render", SystemClock()))
    assert len(movable.inner) == 1


@pytest.mark.parametrize(("error", "raised"), [(LOST, False), (GraphError("our fault"), True)])
def test_a_lost_device_cannot_keep_a_stage_from_closing(
    error: Exception, raised: bool, make_frame: FrameMaker
) -> None:
    movable = Movable(make_frame)
    movable.inner[0].errors = {"close": error}
    if raised:
        with pytest.raises(GraphError):
            movable.stage.close()
    else:
        movable.stage.close()


def test_before_it_is_open_a_stage_stands_in(make_frame: FrameMaker) -> None:
    recovery = Recovery(Selection(CpuDevice()), SystemClock(), bound=False)
    stage: MovableStage[Frame, str] = MovableStage(
        "render", recovery, lambda footing: pytest.fail("not now"), lambda frame: "stand-in"
    )
    assert stage.fallback(make_frame(), None) == "stand-in"
    assert stage.process(make_frame()) == "stand-in"
    stage.close()
