from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.errors import InputError, OutputError, RequestError
from livefusion.media.sources.uri import (
    CameraLocator,
    FileLocator,
    NullLocator,
    PerformerLocator,
    VirtualCameraLocator,
    WebRtcLocator,
    WhipLocator,
    parse_input,
    parse_output,
    redact,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clip.mp4", FileLocator(Path("clip.mp4"))),
        ("/tmp/Übung 日本.mkv", FileLocator(Path("/tmp/Übung 日本.mkv"))),
        ("C:\\clips\\a.mp4", FileLocator(Path("C:\\clips\\a.mp4"))),
        ("c:/clips/a.mp4", FileLocator(Path("c:/clips/a.mp4"))),
        ("file:///tmp/a b.mp4", FileLocator(Path("/tmp/a b.mp4"))),
        ("file:///C:/a.mp4", FileLocator(Path("C:/a.mp4"))),
        ("camera:0", CameraLocator("0")),
        ("camera:", CameraLocator("0")),
        ("Camera:/dev/video2", CameraLocator("/dev/video2")),
        ("performer:", PerformerLocator("")),
        ("performer:size=640x360", PerformerLocator("size=640x360")),
    ],
)
def test_inputs(text: str, expected: object) -> None:
    assert parse_input(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out.mp4", FileLocator(Path("out.mp4"))),
        ("out.MKV", FileLocator(Path("out.MKV"))),
        ("file:out.mkv", FileLocator(Path("out.mkv"))),
        ("vcam:", VirtualCameraLocator("")),
        ("vcam:/dev/video9", VirtualCameraLocator("/dev/video9")),
        ("null:", NullLocator()),
    ],
)
def test_outputs(text: str, expected: object) -> None:
    assert parse_output(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "a\0b.mp4", "ftp://host/a", "sftp://u:secret@host/live", "vcam:"])
def test_wrong_inputs_name_what_there_is(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_input(text)
    assert "camera:0" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "out.avi", "out", "sftp://u:secret@host/live/key", "camera:0", "folder/"]
)
def test_wrong_outputs_name_what_there_is(text: str) -> None:
    with pytest.raises(OutputError) as caught:
        parse_output(text)
    assert ".mp4" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_with_a_colon_in_its_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("take:2.mp4").write_bytes(b"")
    assert parse_input("take:2.mp4") == FileLocator(Path("take:2.mp4"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rtsp://user:pass@host/x?token=abc&n=1", "rtsp://***@host/x?token=***&n=***"),
        ("/tmp/a@b.mp4", "/tmp/a@b.mp4"),
        ("srt://host:9000", "srt://host:9000"),
    ],
)
def test_redacts_credentials(text: str, expected: str) -> None:
    assert redact(text) == expected


@given(st.text(max_size=40))
def test_any_text_gives_a_locator_or_a_typed_error(text: str) -> None:
    for parse in (parse_input, parse_output):
        with suppress(RequestError):
            parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "hint"),
    [
        (parse_input, "performr:", "did you mean performer:?"),
        (parse_input, "camra:0", "did you mean camera:?"),
        (parse_output, "vcan:", "did you mean vcam:?"),
    ],
)
def test_a_slip_in_a_scheme_is_guessed(parse: Callable[[str], object], text: str, hint: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(text)
    assert caught.value.remedy == hint


@pytest.mark.parametrize(
    ("text", "url", "token"),
    [
        ("whip+https://live.example/app", "https://live.example/app", ""),
        ("whip+http://s3cret@127.0.0.1:8090/whip", "http://127.0.0.1:8090/whip", "s3cret"),
        ("whip+https://:a%2Fb@live.example", "https://live.example", "a/b"),
    ],
)
def test_a_whip_server_and_its_token(text: str, url: str, token: str) -> None:
    locator = parse_output(text)
    assert locator == WhipLocator(url, token)
    assert "s3cret" not in repr(locator)
    assert "s3cret" not in redact(text)


@pytest.mark.parametrize(
    "text", ["whip+https:", "whip+https://", "whip+https:/a", "whip+https://a@", "webrtc:x"]
)
def test_what_is_no_address_of_one(text: str) -> None:
    with pytest.raises(OutputError):
        parse_output(text)


def test_whoever_comes() -> None:
    assert parse_input("webrtc:") == parse_output("webrtc:") == WebRtcLocator()
    with pytest.raises(InputError, match="--port"):
        parse_input("webrtc:8090")
