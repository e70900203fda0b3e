"""audit show and audit verify."""

import json
from pathlib import Path

import pytest

from livefusion.cli.main import main
from livefusion.provenance.audit import AuditLog
from livefusion.provenance.audit_record import AuditEvent
from livefusion.provenance.keys import OperatorKey

pytestmark = pytest.mark.unit


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AuditLog:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "home"))
    made = AuditLog()
    for number in range(5):
        made.append(AuditEvent.POLICY, {"number": number})
    return made


def test_an_intact_log_is_told_in_one_line_and_as_json(
    log: AuditLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "verify"]) == 0
    assert "is as it was written: 5 lines" in capsys.readouterr().out
    assert main(["audit", "verify", "--json", "-"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["schema"] == "livefusion.audit/1"
    assert (verdict["intact"], verdict["records"], verdict["problems"]) == (True, 5, [])
    assert verdict["keys"] == [OperatorKey.load().id]


def test_a_changed_log_is_told_with_the_line(log: AuditLog, capsys: pytest.CaptureFixture[str]) -> None:
    content = log.path.read_bytes().replace(b'"number":2', b'"number":9')
    log.path.write_bytes(content)
    assert main(["audit", "verify", str(log.path)]) == 1
    told = capsys.readouterr().out
    assert "WRONG: line 3: it was changed after it was signed" in told
    assert "is NOT as it was written" in told


def test_somebody_elses_log_is_verified_with_their_key(
    log: AuditLog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = OperatorKey.load().public.hex
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "mine"))
    assert main(["audit", "verify", str(log.path)]) == 1
    assert "which is not yours" in capsys.readouterr().out
    assert not (tmp_path / "mine").exists()
    assert main(["audit", "verify", str(log.path), "--key", theirs]) == 0


def test_the_last_lines_are_shown(log: AuditLog, capsys: pytest.CaptureFixture[str]) -> None:
    with log.path.open("ab") as file:
        file.write(b"scribble\n")
    assert main(["audit", "show", "--last", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 3
    assert "number: 4" in rows[1]
    assert "unreadable line" in rows[2]


@pytest.mark.parametrize("action", ["show", "verify"])
def test_without_a_log_it_is_said_when_it_begins(
    action: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path))
    assert main(["audit", action]) == 2
    assert "it begins with the first run" in capsys.readouterr().err


def test_what_cannot_be_shown_is_said(
    log: AuditLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, says in (
        ([str(tmp_path / "none")], "there is no audit log at"),
        ([str(tmp_path)], "name a file such as audit.jsonl"),
        (["--last", "0"], "--last 0 is not valid"),
    ):
        assert main(["audit", "show", *words]) == 2
        assert says in capsys.readouterr().err
