"""What `livefusion verify` and `livefusion sign` say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from livefusion.cli import verify as command
from livefusion.cli.console import Console
from livefusion.cli.main import main
from livefusion.cli.verify import told
from livefusion.pipeline.verify import Verification
from livefusion.provenance.chips import Grid
from livefusion.provenance.detector import Alignment, Finding
from livefusion.provenance.manifest import ManifestState
from livefusion.provenance.watermark import Payload

pytestmark = pytest.mark.unit

NOTHING = Verification(
    "a.mp4", Finding(False, 2.5, 6.1, 3, 0, None), ManifestState("none"), (), 2, {}, False, 90, 3.0
)
ALIGNED = Alignment(Grid(90, 160), False, 0, 0)
FOUND = Finding(True, 20.0, 6.1, 3, 3, ALIGNED, Payload(0xC0DE, 0x2A), key_known=True)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (NOTHING, ("nothing here says", "not found (score 2.5", "says nothing", "say nothing")),
        (replace(NOTHING, watermark=FOUND), ("ALTERED", "3 of 3 windows", "session c0de, key 2a")),
        (replace(NOTHING, watermark=replace(FOUND, payload=None)), ("made with another key",)),
        (replace(NOTHING, watermark=replace(FOUND, payload=None, key_known=False)), ("no key here",)),
        (replace(NOTHING, watermark=replace(FOUND, searched=True)), ("cropped or put into another",)),
        (replace(NOTHING, manifest=ManifestState("invalid")), ("broken: the file was changed",)),
        (replace(NOTHING, notices=({"id": "c0de-2a"},)), ("ALTERED", "says so in 1 of 2 key frames")),
        (replace(NOTHING, tags={"aigc": '{"Label":"1"}'}), ("ALTERED", "metadata   say so")),
        (replace(NOTHING, damaged="Invalid data"), ("ended early: Invalid data",)),
    ],
)
def test_the_report_for_people(found: Verification, words: tuple[str, ...]) -> None:
    text = "\n".join(told(found))
    assert all(word in text for word in words), text


def test_the_report_for_programs_has_what_is_promised() -> None:
    said = replace(NOTHING, watermark=FOUND).as_json()
    json.dumps(said)
    assert said["schema"] == "livefusion.verify/1"
    assert said["watermark"]["detected"] is True
    assert said["watermark"]["score"] == 20.0
    assert said["watermark"]["payload"] == {"session": "c0de", "key_id": "2a"}
    assert said["c2pa"]["state"] == "none"
    assert {"sei", "metadata"} <= said.keys()


@pytest.mark.parametrize("command", ["verify", "sign"])
def test_what_is_no_video_is_one_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path))
    path = tmp_path / "a.mp4"
    path.write_text("not a video")
    assert main([command, str(path)]) in {2, 3}  # 3: c2pa-python is not installed
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_other_kinds_of_file_are_not_signed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sign", str(tmp_path / "a.avi")]) in {2, 3}
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_time_that_shows_nothing_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "clip.mp4", "--seconds", seconds]) == 2
    assert f"--seconds {seconds} is not valid" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, []), (3.0, ["verifying: reading, 1 s"])])
def test_progress_is_shown_once_it_takes_a_while(
    seconds: float, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, shown = [0.0], list[str]()
    monkeypatch.setattr("livefusion.cli.verify.time.monotonic", lambda: now[0])
    console = Console()
    monkeypatch.setattr(console, "status", shown.append)
    tell = command._progress(console)
    now[0] = seconds
    for _ in range(2):
        tell("reading, 1 s")
    assert shown == expected
