import socket

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.media.webrtc.offer import MalformedOfferError
from livefusion.server.access import Access, is_loopback
from livefusion.server.fragment import Fragment, read_fragment

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("localhost:8090", True),
        ("LOCALHOST", True),
        ("127.0.0.1:8090", True),
        ("[::1]:8090", True),
        ("127.8.8.8", True),
        ("live.example:443", True),
        ("192.168.1.7", False),
        ("0.0.0.0:8090", False),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:80", False),
        ("", False),
        (None, False),
        ("[::1", False),
    ],
)
def test_a_foreign_name_that_points_here_is_not_ours(header: str | None, known: bool) -> None:
    access = Access.make("t", "127.0.0.1", ["https://live.example"])
    assert access.knows_host(header) is known


def test_who_is_found_by_the_network_is_found_by_any_of_its_addresses() -> None:
    access = Access.make("t", "0.0.0.0")
    assert access.knows_host("192.168.1.7:8090")
    assert access.knows_host("[fe80::1]:8090")
    assert access.knows_host(socket.gethostname())
    assert not access.knows_host("evil.example")


@pytest.mark.parametrize(
    ("origin", "site", "allowed"),
    [
        (None, None, True),
        (None, "none", True),
        (None, "same-origin", True),
        (None, "same-site", False),
        (None, "cross-site", False),
        ("http://127.0.0.1:8090", "same-origin", True),
        ("https://live.example", "cross-site", True),
        ("http://localhost:3000", "same-site", False),
        ("null", "cross-site", False),
    ],
)
def test_foreign_pages_may_not_ask(origin: str | None, site: str | None, allowed: bool) -> None:
    access = Access.make("t", "127.0.0.1", ["https://live.example"])
    assert access.allows_page(origin, site, "http://127.0.0.1:8090") is allowed


@pytest.mark.parametrize(
    ("header", "borne"),
    [
        ("Bearer s3cret", True),
        ("bearer  s3cret ", True),
        ("Bearer s3cre", False),
        ("Bearer s3crets", False),
        ("Bearer", False),
        ("Basic s3cret", False),
        ("s3cret", False),
        ("Bearer é", False),
        (None, False),
    ],
)
def test_the_token(header: str | None, borne: bool) -> None:
    assert Access.make("s3cret", "127.0.0.1").bears_token(header) is borne


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://127.0.0.1:8090", True),
        ("https://Example.org", True),
        ("https://example.org.evil.example", False),
        ("http://127.0.0.1:9000", False),
        ("null", False),
    ],
)
def test_other_sites_need_leave(origin: str, allowed: bool) -> None:
    access = Access.make("t", "127.0.0.1", ["https://example.org/"])
    assert access.allows_origin(origin, "http://127.0.0.1:8090") is allowed


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_fragment_names_candidates_by_their_section() -> None:
    text = (
        "a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
        "a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host\r\n"
        "m=video 9 RTP/AVP 0\r\na=mid:v\r\na=candidate:2 1 udp 1 192.0.2.2 1 typ host\r\n"
        "a=end-of-candidates\r\n"
    )
    assert read_fragment(text) == Fragment(
        (
            ("0", "1387637174 1 udp 2122260223 192.0.2.1 61764 typ host"),
            ("v", "2 1 udp 1 192.0.2.2 1 typ host"),
        ),
        ended=True,
        user="EsAw",
    )
    assert read_fragment("") == Fragment((), ended=False)


@pytest.mark.parametrize("text", ["hello", "{}", "a", "a=candidate:x\n" * 65])
def test_what_is_no_fragment(text: str) -> None:
    with pytest.raises(MalformedOfferError):
        read_fragment(text)
