"""``livefusion serve``, and the server beside a run that has ``webrtc:`` at one of its ends."""

import sys
from typing import Any

import pytest

import livefusion.cli.execute as execute_module
from livefusion.cli.console import Console
from livefusion.cli.main import main
from livefusion.cli.peers import peers_of
from livefusion.core.errors import DriverError
from livefusion.core.settings import Settings, WebSettings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ([], ("webrtc:", ("webrtc:",))),
        (["-o", "show.mp4"], ("webrtc:", ("webrtc:", "show.mp4"))),
        (["-o", "null:", "-o", "webrtc:"], ("webrtc:", ("null:", "webrtc:"))),
        (["-i", "camera:0"], ("camera:0", ("webrtc:",))),
    ],
)
def test_serve_is_a_run_from_and_to_whoever_comes(
    words: list[str], ends: tuple[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Settings] = []
    monkeypatch.setattr(execute_module, "execute", lambda settings, console: asked.append(settings))
    assert main(["serve", *words]) == 0
    assert (asked[0].input, asked[0].output) == ends


def test_the_settings_of_the_server_are_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Settings] = []
    monkeypatch.setattr(execute_module, "execute", lambda settings, console: asked.append(settings))
    words = ["--host", "0.0.0.0", "--port", "9", "--token", "t", "--origins", "https://a.example"]
    assert main(["serve", *words, "--ice", "stun:s.example", "--bitrate", "500"]) == 0
    assert asked[0].web == WebSettings(
        host="0.0.0.0",
        port=9,
        token="t",
        origins=("https://a.example",),
        ice=("stun:s.example",),
        bitrate=500,
    )


def test_no_server_is_started_where_no_end_needs_one() -> None:
    settings = Settings(input="performer:", output=("null:",))
    with peers_of(settings, Console()) as exchange:
        assert exchange is None


def test_what_is_missing_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    settings = Settings(input="webrtc:", output=("null:",))
    with pytest.raises(DriverError, match="--extra webrtc"), peers_of(settings, Console()):
        pass


@pytest.mark.net
@pytest.mark.parametrize(
    ("ends", "told", "untold"),
    [
        (("webrtc:", "null:"), "/whip", "/whep"),
        (("performer:", "webrtc:"), "/whep", "/whip"),
    ],
)
def test_the_address_is_told_with_its_token(
    ends: tuple[str, str], told: str, untold: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("aiohttp", reason="needs the extra webrtc")
    pytest.importorskip("aiortc", reason="needs the extra webrtc")
    settings = Settings(input=ends[0], output=(ends[1],), web=WebSettings(port=0, token="s3cret"))
    with peers_of(settings, Console()) as exchange:
        assert exchange is not None
    lines: Any = capsys.readouterr().err
    assert "http://127.0.0.1:" in lines
    assert "#token=s3cret" in lines
    assert told in lines
    assert untold not in lines
