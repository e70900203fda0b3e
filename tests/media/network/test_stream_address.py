from collections.abc import Callable

import pytest

from livefusion.core.errors import InputError, OutputError, RequestError
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.rtmp import split_path
from livefusion.media.sources.uri import parse_input, parse_output, redact

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "scheme", "place", "listens"),
    [
        ("rtmp://host/live/key", "rtmp", "host:1935", False),
        ("RTMPS://host/live/key", "rtmps", "host:443", False),
        ("rtmp://0.0.0.0:1936/live/key?listen=1", "rtmp", "0.0.0.0:1936", True),
        ("rtmp://host/live/key?listen=0", "rtmp", "host:1935", False),
        ("rtsp://user:secret@host/path", "rtsp", "host:554", False),
        ("udp://@:1234", "udp", "0.0.0.0:1234", True),
        ("udp://127.0.0.1:1234", "udp", "127.0.0.1:1234", True),
        ("srt://host:9000?mode=listener", "srt", "host:9000", True),
        ("srt://host:9000", "srt", "host:9000", False),
        ("rtmp://[::1]:1935/live/key", "rtmp", "::1:1935", False),
    ],
)
def test_addresses(text: str, scheme: str, place: str, listens: bool) -> None:
    address = parse_input(text)
    assert isinstance(address, StreamAddress)
    assert (address.scheme, address.place, address.listens) == (scheme, place, listens)
    assert "secret" not in repr(address)
    assert "listen=" not in address.url or not listens


@pytest.mark.parametrize(
    ("parse", "error", "text"),
    [
        (parse_input, InputError, "rtmp://"),
        (parse_input, InputError, "rtmp:///live/key"),
        (parse_input, InputError, "rtmp://host:1935?listen=1"),
        (parse_input, InputError, "udp://host"),
        (parse_input, InputError, "rtsp://host:seven/path"),
        (parse_output, OutputError, "srt://host"),
        (parse_output, OutputError, "rtmp://ho st/live/key"),
    ],
)
def test_what_is_not_complete_is_told_with_an_example(
    parse: Callable[[str], object], error: type[RequestError], text: str
) -> None:
    with pytest.raises(error, match=r"write it like \w+://"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rtmp://host/live/key", "rtmp://host/live/***"),
        ("rtmps://user:pass@host/app/key?token=abc", "rtmps://***@host/app/***?token=***"),
        ("rtmp://0.0.0.0:1935/live/key?listen=1", "rtmp://0.0.0.0:1935/live/***?listen=1"),
        ("rtsp://user:pass@host/path", "rtsp://***@host/path"),
        ("srt://host:9000?mode=caller&passphrase=abc", "srt://host:9000?mode=caller&passphrase=***"),
        ("clip.mp4", "clip.mp4"),
    ],
)
def test_secrets_are_taken_out(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/live/key", "", ("live", "key")),
        ("/live/key/more", "a=b", ("live", "key/more?a=b")),
        ("/live", "", ("live", "")),
    ],
)
def test_application_and_key(path: str, query: str, expected: tuple[str, str]) -> None:
    assert split_path(path, query) == expected
