"""The content gate with a classifier that fires on red."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import IdentityError, ModelError
from livefusion.core.frame import Frame
from livefusion.core.settings import GateFailure, GateSettings, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.cpu import CpuDevice
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.gate import BLIND, CONTENT, FIRST, LATE_SECONDS, ContentGate, small_rgb
from livefusion.pipeline.gate_model import GateModel, photo_screen
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit_record import AuditEvent
from livefusion.provenance.badge import rgb_to_yuv
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.mark import no_mark
from livefusion.testing.standins.build import Graph

pytest.importorskip("onnx")
pytestmark = pytest.mark.unit

RED, GREY = (200, 20, 20), (120, 120, 120)


def write_red_finder(path: Path, side: int = 32, gain: float = 1.0) -> Path:
    """Scores [0, how red]: the mean of R less G, of colours in [0, 1]."""
    graph = Graph()
    weights = np.array([0, 0, 0, gain, -gain, 0], np.float32).reshape(2, 3, 1, 1)
    scores = graph.add("Conv", "picture", graph.constant(weights))
    graph.add("GlobalAveragePool", scores, output="scores")
    return graph.write(path, {"picture": (1, 3, side, side)}, {"scores": (1, 2, 1, 1)})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_red_finder(tmp_path / "red.onnx")


def picture(colour: tuple[int, int, int]) -> np.ndarray:
    return np.full((48, 64, 3), colour, np.uint8)


def test_the_score_is_the_last_value_of_the_first_output(model: Path) -> None:
    gate = GateModel(model)
    assert gate.score(picture(RED)) == pytest.approx(180 / 255, abs=0.01)
    assert gate.score(picture(GREY)) == pytest.approx(0, abs=0.01)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    graph = Graph()
    graph.add("Relu", "picture", output="scores")
    wrong = graph.write(tmp_path / "wrong.onnx", {"picture": (1, 7)}, {"scores": (1, 7)})
    with pytest.raises(ModelError, match="no classifier for the content gate"):
        GateModel(wrong)
    (tmp_path / "text.onnx").write_text("no network", encoding="utf-8")
    with pytest.raises(ModelError):
        GateModel(tmp_path / "text.onnx")


def test_a_network_that_gives_no_number_fails(tmp_path: Path) -> None:
    gate = GateModel(write_red_finder(tmp_path / "nan.onnx", gain=float("nan")))
    with pytest.raises(ModelError, match="gives no score"):
        gate.score(picture(RED))


def test_a_source_photo_is_looked_at(model: Path) -> None:
    screen = photo_screen(GateSettings(gate_model=model))
    screen("grey.jpg", picture(GREY))
    with pytest.raises(IdentityError, match=r"the content gate refuses red\.jpg \(red\.onnx gave 0\.7"):
        screen("red.jpg", picture(RED))
    photo_screen(GateSettings())("red.jpg", picture(RED))


def test_the_small_picture_has_the_colours_of_the_large_one() -> None:
    color = ColorInfo()
    yuv = rgb_to_yuv(np.full((720, 1280, 3), RED, np.uint8), color)
    rgb = small_rgb(yuv[..., 0].copy(), yuv[::2, ::2, 1:].copy(), color)
    assert rgb.shape == (252, 448, 3)
    assert np.abs(rgb.astype(int) - RED).max() <= 3


class Scripted:
    """A classifier that gives what it is told, an error for None."""

    name = "scripted"

    def __init__(self) -> None:
        self.next: float | None = 0.0
        self.go_on = threading.Event()
        self.go_on.set()
        self.looks = 0

    def score(self, rgb: np.ndarray) -> float:
        self.looks += 1
        assert self.go_on.wait(timeout=30)
        if self.next is None:
            raise ModelError("the file is gone")
        return self.next


class Rig:
    """A gate whose classifier is scripted."""

    def __init__(self, *, patient: bool = False, hold: bool = False, **settings: Any) -> None:
        self.clock = ScriptedClock()
        self.classifier, self.texts = Scripted(), list[str]()
        self.lines: list[tuple[AuditEvent, dict[str, Any]]] = []
        made = GateSettings(gate_seconds=0.1, gate_clear_looks=2, gate_hold=hold, **settings)
        self.gate = ContentGate(made, self.classifier, self.texts.append, self.clock, self, patient=patient)  # type: ignore[arg-type]

    def note(self, event: AuditEvent, **data: Any) -> None:
        self.lines.append((event, data))

    def look(self, score: float | None) -> None:
        self.classifier.next = score
        self.gate._look(picture(GREY))


def test_a_hit_shows_the_slate_until_it_is_clean_for_long_enough() -> None:
    rig = Rig()
    for score in (0.1, 0.9, 0.9, 0.1, 0.9, 0.1, 0.1, 0.1):
        rig.look(score)
    assert rig.texts == [CONTENT, ""]
    assert (rig.gate.counts.looks, rig.gate.counts.hits, rig.gate.counts.highest) == (8, 3, 0.9)
    assert [data["shown"] for _, data in rig.lines] == ["the slate", "the picture"]
    rig.gate.close()


@pytest.mark.parametrize(
    ("on_failure", "texts"), [(GateFailure.SLATE, [BLIND, ""]), (GateFailure.PICTURE, [])]
)
def test_a_failure_is_told_once_and_shows_what_was_chosen(
    on_failure: GateFailure, texts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(gate_on_failure=on_failure)
    for score in (None, None, 0.1, 0.1):
        rig.look(score)
    assert rig.texts == texts
    assert rig.gate.counts.failures == 2
    assert caplog.text.count("the content gate fails (the file is gone)") == 1
    assert {"failed": "the file is gone"} in [data for _, data in rig.lines]
    rig.gate.close()


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_no_number_is_a_failure(score: float) -> None:
    rig = Rig()
    rig.look(score)
    assert rig.texts == [BLIND]
    assert rig.gate.counts.failures == 1
    rig.gate.close()


@pytest.mark.parametrize(
    ("on_failure", "texts"), [(GateFailure.SLATE, [BLIND, ""]), (GateFailure.PICTURE, [])]
)
def test_a_look_that_hangs_lets_nothing_pass(
    make_frame: Callable[[], Frame], on_failure: GateFailure, texts: list[str]
) -> None:
    rig, device = Rig(gate_on_failure=on_failure), CpuDevice()
    rig.classifier.go_on.clear()
    for _ in range(LATE_SECONDS * 2 + 5):
        rig.gate.offer(make_frame(), device)
        rig.clock.advance(NANOSECONDS // 2)
    assert rig.texts == texts[:1]
    assert rig.gate.counts.failures == 1
    rig.classifier.go_on.set()
    wait_for(lambda: rig.gate._waiting is None)
    rig.look(0.0)
    assert rig.texts == texts
    rig.gate.close()


@pytest.mark.parametrize(
    ("score", "on_failure", "texts"),
    [
        (0.1, GateFailure.SLATE, [FIRST, ""]),
        (0.9, GateFailure.SLATE, [FIRST, CONTENT]),
        (None, GateFailure.SLATE, [FIRST, BLIND]),
        (None, GateFailure.PICTURE, [FIRST, ""]),
    ],
)
def test_nothing_is_shown_live_before_the_first_verdict(
    score: float | None, on_failure: GateFailure, texts: list[str]
) -> None:
    rig = Rig(hold=True, gate_on_failure=on_failure)
    assert rig.texts == [FIRST]
    rig.look(score)
    assert rig.texts == texts
    rig.gate.close()


@pytest.mark.parametrize(
    ("on_failure", "texts"), [(GateFailure.SLATE, [FIRST, BLIND]), (GateFailure.PICTURE, [FIRST, ""])]
)
def test_the_first_verdict_is_waited_for_so_long_and_no_longer(
    make_frame: Callable[[], Frame], on_failure: GateFailure, texts: list[str]
) -> None:
    rig, device = Rig(hold=True, gate_on_failure=on_failure), CpuDevice()
    rig.classifier.go_on.clear()
    for second in range(LATE_SECONDS + 2):
        rig.gate.offer(make_frame(), device)
        if second <= LATE_SECONDS:
            assert rig.texts == [FIRST]
        rig.clock.advance(NANOSECONDS)
    assert rig.texts == texts
    rig.classifier.go_on.set()
    rig.gate.close()


def test_a_file_waits_for_no_verdict_that_comes_before_its_picture(make_frame: Callable[[], Frame]) -> None:
    rig = Rig(patient=True, hold=True)
    assert rig.texts == []
    rig.classifier.next = 0.9
    rig.gate.offer(make_frame(), CpuDevice())
    assert rig.texts == [CONTENT]
    rig.gate.close()


def test_a_file_is_looked_at_in_its_own_time_however_fast_it_runs(make_frame: Callable[[], Frame]) -> None:
    rig, device = Rig(patient=True), CpuDevice()
    for number in range(13):  # at 30 fps, three pictures a look; the clock stands still
        rig.classifier.next = 0.9 if number == 6 else 0.0
        rig.gate.offer(make_frame(), device)
    assert rig.classifier.looks == 5
    assert rig.texts == [CONTENT, ""]
    rig.gate.close()


@pytest.mark.media
def test_a_run_shows_the_slate_and_tells_it(tmp_path: Path) -> None:
    """Every picture is redder than this threshold."""
    model = write_red_finder(tmp_path / "red.onnx")
    gate = GateSettings(gate_model=model, gate_threshold=-1.0, gate_seconds=0.1)
    settings = Settings(
        input="performer:", output=("null:",), size="320x240", fps=10, duration=3, pace="realtime", gate=gate
    )
    pipeline = Pipeline(settings, parts=Parts(mark=no_mark))
    try:
        pipeline.start()
        wait_for(lambda: pipeline.plans.current().gate == CONTENT)
        pipeline.wait()
    finally:
        pipeline.stop()
    report = pipeline.report()
    assert report["gate"]["hits"] >= 1
    assert report["gate"]["failures"] == 0


@pytest.mark.media
@pytest.mark.parametrize("hold", [True, False])
def test_a_live_run_shows_no_picture_before_the_first_look(
    tmp_path: Path, hold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classifier never answers: with the hold only slates go out."""
    never = threading.Event()
    monkeypatch.setattr(GateModel, "score", lambda self, rgb: float(never.wait(timeout=60)))
    gate = GateSettings(gate_model=write_red_finder(tmp_path / "red.onnx"), gate_hold=hold)
    settings = Settings(
        input="performer:", output=("null:",), size="320x240", fps=10, duration=1, pace="realtime", gate=gate
    )
    pipeline = Pipeline(settings, parts=Parts(mark=no_mark))
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
        never.set()
    report = pipeline.report()
    assert (report["frames"]["delivered"] == 0) is hold
    assert report["outputs"][0]["slates"] > 0 or not hold


@pytest.mark.media
@pytest.mark.parametrize("seconds", [0.1, 1.0])
def test_a_file_keeps_its_length_while_pictures_are_withheld(tmp_path: Path, seconds: float) -> None:
    """Every picture is a hit, from the very first on: each becomes a slate, and none is lost."""
    model = write_red_finder(tmp_path / "red.onnx")
    gate = GateSettings(gate_model=model, gate_threshold=-1.0, gate_seconds=seconds)
    output = str(tmp_path / "out.mp4")
    settings = Settings(
        input="performer:", output=(output,), size="320x240", fps=10, duration=1, pace="fast", gate=gate
    )
    pipeline = Pipeline(settings, parts=Parts(mark=no_mark))
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    frames = pipeline.report()["frames"]
    assert (frames["captured"], frames["delivered"], frames["safe"], frames["raw"]) == (10, 10, 10, 0)
    assert pipeline.report()["gate"]["looks"] == round(1 / seconds)


def wait_for(condition: Callable[[], bool]) -> None:
    end, pause = time.monotonic() + 60, threading.Event()
    while not condition():
        assert time.monotonic() < end
        pause.wait(0.01)
