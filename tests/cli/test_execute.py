"""run and demo around a pipeline that is pretended: consent, summary, report, and how a run ends."""

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from livefusion.cli import execute as execute_module
from livefusion.cli.console import Console
from livefusion.cli.execute import with_consent
from livefusion.cli.main import main
from livefusion.core.errors import (
    DriverError,
    GraphError,
    InputError,
    OutputError,
    SafetyStopError,
    SettingsError,
)
from livefusion.core.settings import Pace, Settings
from livefusion.media.sources import capture
from livefusion.swap.persona import PersonaLibrary

pytestmark = pytest.mark.unit

RESIDENCE = {"p50": 11.24, "p95": 14.8, "p99": 19.0, "max": 25.0}


def report(**frames: Any) -> dict[str, Any]:
    return {
        "schema": "livefusion.report/1",
        "device": {"name": "cpu", "fallbacks": []},
        "engine": {"name": "mesh", "identity": "vera"},
        "frames": {
            "captured": 300,
            "delivered": 299,
            "swapped": 290,
            "safe": 9,
            "clear": 0,
            "raw": 0,
            "repeated": 2,
            "dropped": {"decode→analyse:newest-wins": 1},
        }
        | frames,
        "latency_ms": {"residence": RESIDENCE},
        "stages": {"render": {"failures": 0, "errors": []}},
        "restraint": {"level": 0, "left_out": {"occlusion": 0}},
        "fps": {"in": 30.0, "out": 29.94},
        "outputs": [{"uri": "null:", "frames": 299, "bytes": 0, "errors": [], "reconnects": 0}],
    }


class FakePipeline:
    """Notes how it is used; ``errors`` are raised by ``wait``, one a pipeline."""

    made: list["FakePipeline"]
    errors: list[BaseException]
    document: dict[str, Any]

    def __init__(self, settings: Settings, *, library: Any, parts: Any = None) -> None:
        self.settings = settings
        self.calls: list[str] = []
        self.made.append(self)

    def start(self) -> None:
        self.calls.append("start")

    def wait(self, timeout: float) -> bool:
        self.calls.append("wait")
        if self.errors:
            raise self.errors.pop(0)
        return self.calls.count("wait") > 2

    def progress(self) -> Any:
        from types import SimpleNamespace

        return SimpleNamespace(
            fps=30.0,
            p95_ms=1.0,
            dropped=0,
            tracks=1,
            device="cpu",
            delivered=1,
            total=None,
            left_out=(),
        )

    def stop(self) -> None:
        self.calls.append("stop")

    def report(self) -> dict[str, Any]:
        return self.document


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakePipeline]:
    class Library:
        advice: tuple[str, ...] = ()

        def __init__(self, tell: Any) -> None:
            del tell

        def names(self) -> tuple[str, ...]:
            return ("vera",)

    FakePipeline.made, FakePipeline.errors, FakePipeline.document = [], [], report()
    monkeypatch.setattr(execute_module, "Pipeline", FakePipeline)
    monkeypatch.setattr(execute_module, "IdentityLibrary", Library)
    monkeypatch.chdir(tmp_path)
    return FakePipeline


RUN = ["run", "-i", "clip.mp4", "-o", "null:"]


def test_a_run_starts_waits_stops_and_tells_its_figures(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--report", "report.json", "--pace", "fast"]) == 0
    [made] = pipeline.made
    assert made.calls == ["start", "wait", "wait", "wait", "stop"]
    assert made.settings.pace is Pace.FAST
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "300 pictures in, 299 out: 290 swapped, 9 covered, 0 without a face; 1 skipped, 2 shown again",
        "delay 11 ms typically, at most 15 ms for 95 of 100 pictures; "
        "29.9 pictures per second, with the face of vera",
        "→ null: (299 pictures)",
    ]
    assert not err
    assert json.loads(Path("report.json").read_text(encoding="utf-8")) == pipeline.document


def test_an_output_file_is_shown_with_its_full_path_and_size(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out.mp4").write_bytes(b"movie")
    pipeline.document["outputs"] = [{"uri": "out.mp4", "frames": 299, "bytes": 4_210_000, "errors": []}]
    assert main(RUN) == 0
    assert f"→ {Path('out.mp4').resolve()} (299 pictures, 4.2 MB)" in capsys.readouterr().out


def test_what_must_not_be_overlooked_is_a_warning(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.document = report(raw=3, clear=299)
    pipeline.document["stages"]["render"] = {
        "failures": 2,
        "errors": ["this machine was too busy: close others"],
    }
    pipeline.document["outputs"][0]["errors"] = ["disk full"]
    assert main(RUN) == 0
    err = capsys.readouterr().err
    assert err.splitlines() == [
        "livefusion: warning: 3 pictures show a known face unaltered",
        "livefusion: warning: no face was found: come closer, face the camera, and give it light",
        "livefusion: warning: this machine was too busy: close others",
        "livefusion: warning: disk full",
    ]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), 130),
        (SafetyStopError("stopped"), 4),
        (GraphError("fault"), 1),
        (DriverError("gone"), 3),
    ],
)
def test_however_a_run_ends_it_is_stopped_and_reported(
    error: BaseException, status: int, pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.errors = [error]
    assert main([*RUN, "--report", "report.json"]) == status
    assert pipeline.made[0].calls == ["start", "wait", "stop"]
    assert Path("report.json").is_file()
    assert "300 pictures in, 299 out" in capsys.readouterr().out


def test_a_run_that_never_began_leaves_no_report_of_zeros(pipeline: type[FakePipeline]) -> None:
    pipeline.document = report(captured=0, delivered=0, swapped=0, safe=0, repeated=0, dropped={})
    pipeline.errors = [InputError("there is no file clip.mp4")]
    assert main([*RUN, "--report", "report.json"]) == 2
    assert not Path("report.json").exists()


@pytest.mark.parametrize("flags", [[], ["-v"]])
def test_what_few_want_to_know_is_said_to_those_who_ask(
    flags: list[str], pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.document["device"]["fallbacks"] = [{"wanted": "cuda", "got": "cpu", "reason": "no GPU"}]
    pipeline.document["restraint"] = {"level": 1, "left_out": {"occlusion": 7}}
    assert main([*RUN, *flags]) == 0
    out, err = capsys.readouterr()
    assert "cuda" not in out
    assert ("cpu instead of cuda: no GPU" in err) is bool(flags)
    assert ("occlusion was left out of 7 pictures" in err) is bool(flags)
    assert ("p50 11.2 ms, p95 14.8 ms, p99 19.0 ms (cpu, mesh)" in err) is bool(flags)


def test_an_output_that_took_nothing_is_marked(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.document["outputs"].append({"uri": "vcam:", "frames": 0, "bytes": 0, "errors": []})
    assert main(RUN) == 0
    assert "✗ vcam: (nothing was written)" in capsys.readouterr().out


def test_advice_about_photos_is_given(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute_module.IdentityLibrary, "advice", ("me.jpg: it is dark; turn on a light",))
    assert main(RUN) == 0
    assert "livefusion: advice: me.jpg: it is dark; turn on a light" in capsys.readouterr().err


def test_demo_calls_the_persona_by_its_name(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "list_cameras", list)
    assert main(["demo"]) == 0
    first = PersonaLibrary().first.label
    assert f"putting the face of {first} on a performer made from a photo for 10 s" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--badge", "--no-badge"])
def test_a_picture_without_a_mark_is_mentioned_once(
    flag: str, pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, flag, "--badge-off-reason", "a film that says so in its titles"]) == 0
    assert capsys.readouterr().err.count("the picture is not marked") == (flag == "--no-badge")


def test_no_badge_needs_a_reason(pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--no-badge", "--badge-off-reason", "  "]) == 2
    assert "say why it is off: --badge-off-reason" in capsys.readouterr().err
    assert pipeline.made == []


@pytest.mark.parametrize("flag", ["--report", "--trace"])
def test_a_folder_that_is_not_there_is_found_out_before_the_run(
    flag: str, pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, flag, "none/file.json"]) == 2
    assert pipeline.made == []
    assert (
        f"{flag} none/file.json cannot be written (there is no folder none): make it"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(("cameras", "input_"), [(["/dev/video0"], "camera:/dev/video0"), ([], "performer:")])
def test_demo_takes_the_camera_if_there_is_one(
    cameras: list[str], input_: str, pipeline: type[FakePipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        capture, "list_cameras", lambda: [capture.CameraInfo(device, "cam") for device in cameras]
    )
    assert main(["demo"]) == 0
    settings = pipeline.made[0].settings
    assert settings.input == input_
    assert (settings.output, settings.duration, settings.pace) == (
        ("livefusion-demo.mp4",),
        10.0,
        Pace.REALTIME,
    )


def test_demo_does_without_a_camera_that_is_taken(
    pipeline: type[FakePipeline], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capture, "list_cameras", lambda: [capture.CameraInfo("0", "cam")])
    pipeline.errors = [DriverError("camera:0 is in use", "close the other program")]
    assert main(["demo"]) == 0
    assert [made.settings.input for made in pipeline.made] == ["camera:0", "performer:"]
    assert "livefusion: warning: camera:0 is in use" in capsys.readouterr().err


def test_demo_with_an_input_of_the_user_does_not_replace_it(pipeline: type[FakePipeline]) -> None:
    pipeline.errors = [DriverError("camera:7 is not there")]
    assert main(["demo", "-i", "camera:7", "--duration", "2"]) == 3
    assert len(pipeline.made) == 1
    assert pipeline.made[0].settings.duration == 2


def _photo(path: Path) -> Path:
    Image.new("RGB", (8, 8)).save(path)
    return path


def _folder_of_photos(path: Path) -> None:
    path.mkdir()
    _photo(path / "a.png")


@pytest.mark.parametrize("make", [_photo, _folder_of_photos])
def test_a_photo_needs_a_consent(
    make: Callable[[Path], Any], pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    make(Path("me.jpg"))
    assert main([*RUN, "-s", "me.jpg"]) == 2
    assert pipeline.made == []
    assert "the face in me.jpg is put on only with the consent of its owner" in capsys.readouterr().err
    assert main([*RUN, "-s", "me.jpg", "--consent", "myself"]) == 0
    assert pipeline.made[0].settings.consent == "myself"


@pytest.mark.parametrize("source", ["", "vera", "no-such-thing"])
def test_a_persona_needs_none(source: str) -> None:
    settings = Settings(source=source)
    assert with_consent(settings, ("vera",), Console(io.StringIO(), io.StringIO())) is settings


@pytest.mark.parametrize("answer", ["myself", ""])
def test_at_a_terminal_consent_is_asked(answer: str, tmp_path: Path) -> None:
    class Person(Console):
        interactive = True  # type: ignore[assignment]

        def ask(self, question: str) -> str:
            return answer

    photo = _photo(tmp_path / "me.jpg")
    console = Person(io.StringIO(), io.StringIO())
    if answer:
        assert with_consent(Settings(source=str(photo)), (), console).consent == "myself"
    else:
        with pytest.raises(SettingsError, match="consent of its owner"):
            with_consent(Settings(source=str(photo)), (), console)


UNREADABLE = [
    ("notes.txt", b"hello", "notes.txt is not an image"),
    ("empty.png", b"", "empty.png is not an image"),
    ("cut.png", 45, "cut.png is damaged"),
    ("clip.mp4", b"hello" * 500, "clip.mp4 cannot be read as a video"),
    ("folder", None, "there is no photo in folder"),
]


@pytest.mark.parametrize(("name", "content", "says"), UNREADABLE)
def test_nobody_is_asked_about_a_file_that_has_no_face_in_it(
    name: str, content: bytes | int | None, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Person(Console):
        interactive = True  # type: ignore[assignment]

        def ask(self, question: str) -> str:
            raise AssertionError(question)

    monkeypatch.chdir(tmp_path)
    if content is None:
        Path(name).mkdir()
    else:
        whole = _photo(Path("whole.png")).read_bytes()
        Path(name).write_bytes(whole[:content] if isinstance(content, int) else content)
    with pytest.raises(InputError, match=says):
        with_consent(Settings(source=name), (), Person(io.StringIO(), io.StringIO()))


def test_a_report_that_cannot_be_written_does_not_hide_what_ended_the_run(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OutputError("cannot write r.json")

    monkeypatch.setattr(execute_module, "write_json", refuse)
    pipeline.errors = [DriverError("camera gone")]
    assert main([*RUN, "--report", "r.json"]) == 3
    assert capsys.readouterr().err.endswith("livefusion: error: camera gone\n")
    assert main([*RUN, "--report", "r.json"]) == 2
    assert capsys.readouterr().err == "livefusion: error: cannot write r.json\n"


def test_an_error_that_was_read_is_not_said_again(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, timeout: float) -> bool:
        logging.getLogger("livefusion.runtime").error("disk full: free some")
        raise OutputError("disk full", "free some")

    monkeypatch.setattr(pipeline, "wait", fail)
    pipeline.document["outputs"][0]["errors"] = ["disk full: free some"]
    assert main(RUN) == 2
    assert capsys.readouterr().err.splitlines() == ["livefusion: error: disk full: free some"]


def test_a_run_without_a_picture_says_so(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline.document = report(delivered=0, clear=0)
    assert main(RUN) == 0
    assert "no picture was written" in capsys.readouterr().err


def test_a_report_on_stdout_stands_there_alone(
    pipeline: type[FakePipeline], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--report", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == pipeline.document
