from typing import Any

import av
import pytest
from av.error import ProtocolNotFoundError

from livefusion.cli.probe import streams
from livefusion.cli.probe.finding import State
from livefusion.media.network import srt

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("program", "own", "state", "told"),
    [
        (None, False, State.LACKING, "is not installed, and FFmpeg in PyAV"),
        ("/usr/bin/srt-live-transmit", False, State.OK, "by /usr/bin/srt-live-transmit, as FFmpeg in PyAV"),
        ("/usr/bin/srt-live-transmit", True, State.OK, "has SRT, which is not used"),
    ],
)
def test_what_carries_srt(
    program: str | None, own: bool, state: State, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams.shutil, "which", lambda _: program)
    monkeypatch.setattr(streams, "ffmpeg_has_srt", lambda: own)
    carried, finding = streams.find_streams()
    assert (carried.state, finding.state) == (State.OK, state)
    assert told in finding.detail
    assert ("srt-tools" in finding.remedy) is (program is None)


@pytest.mark.parametrize(
    ("error", "has"), [(ProtocolNotFoundError(1, "no"), False), (av.error.TimeoutError(1, "late"), True)]
)
def test_ffmpeg_is_asked_by_what_it_answers(
    error: Exception, has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(srt.av, "open", refuse)
    assert srt.ffmpeg_has_srt() is has
