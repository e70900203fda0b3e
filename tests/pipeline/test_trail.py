"""A graph that is embedded keeps the same audit log as the command line, unless it is told not to."""

import json
from pathlib import Path

import pytest

from livefusion.core.errors import IdentityError, LiveFusionError
from livefusion.core.settings import Pace, SafetySettings, Settings
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.trail import open_trail
from livefusion.provenance.audit import LOG_FILE, NOWHERE, AuditLog, AuditTrail, audit_folder
from livefusion.provenance.audit_record import AuditEvent

pytestmark = pytest.mark.media

SETTINGS = Settings(input="performer:", output=("null:",), size="320x240", fps=10, duration=1, pace=Pace.FAST)


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "home"))


def events() -> list[str]:
    path = audit_folder() / LOG_FILE
    return (
        [json.loads(line)["event"] for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )


def run(settings: Settings, parts: Parts | None = None) -> None:
    pipeline = Pipeline(settings, parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()


def test_an_embedded_run_is_noted() -> None:
    run(SETTINGS)
    assert events() == [AuditEvent.START, AuditEvent.IDENTITY, AuditEvent.STOP]


def test_an_embedded_run_that_is_refused_is_noted() -> None:
    with pytest.raises(LiveFusionError):
        run(SETTINGS.model_copy(update={"source": "nobody of that name"}))
    assert events() == [AuditEvent.REFUSED]


def test_nothing_is_noted_where_that_is_asked_for() -> None:
    run(SETTINGS, Parts(trail=NOWHERE))
    assert events() == []


@pytest.mark.parametrize(("badge", "source"), [(True, ""), (True, "me.jpg"), (False, "")])
def test_without_a_log_only_a_persona_with_the_badge_goes_on(
    badge: bool, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: AuditLog) -> None:
        raise IdentityError("there is no key", "make one")

    monkeypatch.setattr(AuditLog, "__init__", fail)
    settings = Settings(source=source, safety=SafetySettings(badge=badge))
    if badge and not source:
        assert open_trail(settings, IdentityLibrary()) is NOWHERE
    else:
        with pytest.raises(IdentityError):
            open_trail(settings, IdentityLibrary())


def test_a_trail_that_is_closed_notes_nothing_more_and_one_without_a_note_writes_nothing() -> None:
    AuditTrail(AuditLog()).close()
    assert events() == []
    trail = AuditTrail(AuditLog(), alive_seconds=60)
    trail.note(AuditEvent.START)
    trail.settle()
    trail.close()
    trail.note(AuditEvent.STOP)
    trail.close()
    assert events() == [AuditEvent.START]
