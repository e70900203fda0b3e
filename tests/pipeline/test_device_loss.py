"""The whole graph while its device runs out of memory or is lost, wherever it is asked for something."""

import math
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from livefusion.core.errors import DeviceError, LiveFusionError
from livefusion.core.frame import Outcome
from livefusion.core.settings import FaceSettings, Pace, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.faces.build import Networks, build_analyse_stage
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.pipeline import stages
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.runtime.backoff import RestartPolicy
from livefusion.testing.chaos_source import ChaosSource
from livefusion.testing.court import threads_left
from livefusion.testing.faults import FaultBoard, FragileDevice, Mishap
from livefusion.testing.injections import Entry, Injection, Reels, Scene, format_change, work_fails
from livefusion.testing.judge import JudgeSink
from livefusion.testing.mark import no_mark

pytestmark = pytest.mark.chaos

ONCE = (0.0, 0.0)
FREED, SAVED = "fragile with memory freed", "fragile with fewer pictures and faces"
POINTS = {
    "picture pool": "decode:empty",
    "upload": "decode:copy",
    "analyse launch": "analyse:nv12_warp_norm",
    "landmarks": "analyse:face_landmarks",
    "detector": "detector:yunet",
    "render launch": "render:blend_matched",
    "host read": "part 0:to_host",
    "host copy": "part 0:copy",
}


def fails(point: str, mishap: Mishap) -> Injection:
    """One call there fails; a pool asks for memory only when the format changes."""
    if point != "picture pool":
        return work_fails([POINTS[point]], mishap, ONCE, 4)

    def play(scene: Scene) -> Iterator[Entry]:
        scene.board.arm(POINTS[point], mishap)
        yield from format_change(scene)

    return play


@dataclass
class Show:
    """A run on a device that fails, and what came of it."""

    report: dict[str, Any]
    judge: JudgeSink
    source: ChaosSource
    device: FragileDevice
    threads: list[str]
    error: LiveFusionError | None

    @property
    def steps(self) -> list[tuple[str, str]]:
        return [(one["wanted"], one["got"]) for one in self.report["device"]["fallbacks"]]

    def require_safe(self) -> None:
        assert self.judge.raw == []
        assert self.judge.outcomes[Outcome.RAW] == self.report["frames"]["raw"] == 0
        assert self.judge.out_of_order == 0
        assert self.threads == []
        assert self.source.unrecovered == []
        assert self.report["frames"]["swapped"] > 0


def play(
    reels: Reels,
    *script: Injection,
    asked: str = "auto",
    shares: bool = True,
    name: str = "fragile",
    board: FaultBoard | None = None,
    restarts: RestartPolicy | None = None,
) -> Show:
    LIBRARY.filter_type()  # else a thread of its own may still be importing it at the end
    before = set(threading.enumerate())
    board = board or FaultBoard()
    device = FragileDevice(name, board, shares_host_memory=shares)
    named = [(str(number), injection) for number, injection in enumerate(script)]
    source = ChaosSource(device, reels, named, board=board, rng=random.Random(1))
    judges: list[JudgeSink] = []

    def judge(where: Device, form: OutputFormat) -> JudgeSink:
        judges.append(JudgeSink(where, source))
        return judges[-1]

    source.is_well = lambda since_ns: bool(judges) and judges[0].is_well(since_ns)
    parts = Parts(device=device, source=lambda _: source, sinks=[judge], restarts=restarts, mark=no_mark)
    pipeline = Pipeline(Settings(input="chaos:", pace=Pace.REALTIME, device=asked), parts=parts)
    error = None
    try:
        pipeline.start()
        pipeline.wait()
    except LiveFusionError as fault:
        error = fault
    finally:
        board.release()
        pipeline.stop()
    seen = judges[0] if judges else JudgeSink(CpuDevice(), source)
    return Show(pipeline.report(), seen, source, device, threads_left(before), error)


@pytest.mark.parametrize("point", POINTS)
def test_the_first_lack_of_memory_costs_some_covered_pictures(point: str, reels: Reels) -> None:
    show = play(reels, fails(point, Mishap.STARVED), shares=point != "host copy")
    show.require_safe()
    assert show.error is None
    assert len(show.source.struck) == 1
    assert show.steps == [("fragile", FREED)]
    assert show.device.trimmed > 0
    assert show.report["device"]["name"] == "fragile"


class Builds:
    """Notes what each analyse stage of a run is built with."""

    def __init__(self) -> None:
        self.devices: list[str] = []
        self.max_faces: list[int] = []
        self.known: list[int] = []

    def __call__(self, device: Device, faces: FaceSettings, networks: Networks, **options: Any) -> Any:
        self.devices.append(device.name)
        self.max_faces.append(faces.max_faces)
        self.known.append(len(options["known"]))
        return build_analyse_stage(device, faces, networks, **options)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    builds = Builds()
    monkeypatch.setattr(stages, "build_analyse_stage", builds)
    return builds


def test_a_lack_of_memory_that_comes_again_ends_on_the_cpu(reels: Reels, builds: Builds) -> None:
    points = ("landmarks", "upload", "render launch")
    show = play(reels, *(fails(point, Mishap.STARVED) for point in points))
    show.require_safe()
    assert len(show.source.struck) == 3
    assert show.steps == [("fragile", FREED), ("fragile", SAVED), ("fragile", "cpu")]
    assert builds.devices == ["fragile", "fragile", "fragile", "cpu"]
    assert builds.max_faces == [4, 4, 1, 4]
    assert builds.known == [0, 1, 1, 1], "faces known before are still known"
    assert show.report["device"]["name"] == "cpu"


@pytest.mark.parametrize("point", POINTS)
def test_a_lost_device_is_left_at_once(point: str, reels: Reels, caplog: pytest.LogCaptureFixture) -> None:
    show = play(reels, fails(point, Mishap.LOST), shares=point != "host copy")
    show.require_safe()
    assert show.error is None
    assert show.steps == [("fragile", "cpu")]
    assert show.report["device"]["name"] == "cpu"
    assert "is lost" in show.report["device"]["fallbacks"][0]["reason"]
    assert show.report["faces"]["identity_switches"] == 0
    (told,) = [record.getMessage() for record in caplog.records if "on fragile" in record.getMessage()]
    assert told.endswith("the run goes on with the CPU")


def test_a_device_asked_for_by_name_is_left_too_once_the_show_is_on(reels: Reels) -> None:
    show = play(reels, fails("render launch", Mishap.LOST), asked="cuda")
    show.require_safe()
    assert (show.error, show.report["device"]["name"]) == (None, "cpu")


@pytest.mark.parametrize("mishap", [Mishap.LOST, Mishap.STARVED])
def test_a_picture_that_is_shown_again_may_be_gone_by_then(mishap: Mishap, reels: Reels) -> None:
    """Nothing comes while the last picture is shown again and again, and then that one is gone."""

    def repeats(scene: Scene) -> Iterator[Entry]:
        yield from scene.play(2)
        scene.board.arm("part 0:to_host", mishap)
        yield 0.3
        yield from scene.play(2)

    show = play(reels, repeats)
    show.require_safe()
    assert show.error is None
    assert any(one.slate for one in show.judge.sightings)


@pytest.mark.parametrize(
    ("asked", "work", "mishap", "steps"),
    [
        ("auto", "decode:stream", Mishap.LOST, ["cpu"]),
        ("auto", "analyse:nv12_warp_norm", Mishap.LOST, ["cpu"]),
        ("auto", "part 0:stream", Mishap.LOST, ["cpu"]),
        ("cuda", "part 0:stream", Mishap.LOST, None),
        ("auto", "render:draw_mesh", Mishap.STARVED, [FREED, SAVED, "cpu"]),
        ("cuda", "render:draw_mesh", Mishap.STARVED, None),
        ("cuda", "decode:stream", Mishap.LOST, None),
        ("cuda", "analyse:nv12_warp_norm", Mishap.LOST, None),
    ],
)
def test_at_the_start_only_auto_begins_elsewhere(
    asked: str, work: str, mishap: Mishap, steps: list[str] | None, reels: Reels
) -> None:
    board = FaultBoard()
    board.arm(work, mishap, times=math.inf)
    show = play(reels, asked=asked, board=board, shares=work != "part 0:stream")
    if steps is None:
        assert isinstance(show.error, DeviceError)
        assert show.error.exit_status == 3
        assert show.report["device"]["name"] == "fragile"
        return
    show.require_safe()
    assert show.error is None
    assert [got for _, got in show.steps] == steps


def test_a_cpu_without_memory_covers_the_picture_and_is_degraded(reels: Reels) -> None:
    def starve(scene: Scene) -> Iterator[Entry]:
        scene.board.arm("render:blend_matched", Mishap.STARVED, times=math.inf)
        yield from scene.play(180)  # the stage is opened anew twice before a failure counts
        scene.board.disarm("render:blend_matched")

    restarts = RestartPolicy(NANOSECONDS // 100, failures=2)
    show = play(reels, starve, name="cpu", restarts=restarts)
    show.require_safe()
    assert show.error is None
    assert [got for _, got in show.steps] == ["cpu with memory freed", "cpu with fewer pictures and faces"]
    assert "face_occluder" not in [model["name"] for model in show.report["engine"]["models"]]
    assert show.report["stages"]["render"]["degraded"]
    assert show.report["frames"]["safe"] > 0
