"""WHIP and WHEP by HTTP, as RFC 9725 has them and as OBS takes them."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.errors import DriverError, SettingsError
from livefusion.core.settings import WebSettings
from livefusion.media.webrtc.offer import MAX_BYTES
from livefusion.server.door import Door, open_door
from livefusion.server.limits import Limits, Rate
from livefusion.testing.offers import OBS

pytestmark = [
    pytest.mark.net,
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SDP, FRAGMENT = "application/sdp", "application/trickle-ice-sdpfrag"
MANY = Rate(10**6, 10**6)
SETTINGS = WebSettings(port=0, token="s3cret", origins=("https://studio.example",))


class Client:
    """Asks a door; with the token and as SDP unless told otherwise."""

    def __init__(self, door: Door) -> None:
        self._address = door.address.removeprefix("http://")

    def ask(
        self, method: str, path: str, body: str | bytes = "", **headers: str | None
    ) -> tuple[int, dict[str, str], str]:
        asked = {"Authorization": "Bearer s3cret", "Content-Type": SDP}
        asked.update({name.replace("_", "-"): value for name, value in headers.items()})  # type: ignore[arg-type]
        connection = HTTPConnection(self._address, timeout=20)
        try:
            data = body.encode() if isinstance(body, str) else body
            connection.request(method, path, data, {k: v for k, v in asked.items() if v is not None})
            response = connection.getresponse()
            # Link may come several times.
            given = {name.lower(): value for name, value in response.getheaders()}
            return response.status, given, response.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    # They ask more than one address may.
    with open_door(SETTINGS, replace(Limits(), offers=MANY, requests=MANY, wrong_tokens=MANY)) as made:
        yield made


@pytest.fixture
def client(door: Door) -> Client:
    return Client(door)


def test_obs_is_let_in_and_let_go(client: Client) -> None:
    status, headers, answer = client.ask("POST", "/whip", OBS)
    assert status == 201
    assert headers["content-type"].startswith(SDP)
    assert headers["location"].startswith("/whip/")
    assert headers["etag"].startswith('"')
    assert headers["accept-patch"] == FRAGMENT
    assert "H264/90000" in answer
    assert answer.count("a=recvonly") == 2
    assert "a=candidate:" in answer
    status, _, _ = client.ask("DELETE", headers["location"])
    assert status == 200  # OBS takes no 204
    # Clients hang up before they take leave: that it is over already is no mistake of theirs.
    assert client.ask("DELETE", headers["location"])[0] == 200
    assert client.ask("DELETE", headers["location"].replace("whip/", "whep/"))[0] == 404
    assert client.ask("DELETE", "/whip/nobody")[0] == 404


def test_peers_learn_of_the_servers_that_help_them() -> None:
    # A port of our own where nobody answers: a server that answers is not needed to be told of it.
    with open_door(SETTINGS.model_copy(update={"ice": ("stun:127.0.0.1:9",)})) as door:
        _, headers, _ = Client(door).ask("POST", "/whip", OBS)
        _, _, told = Client(door).ask("GET", "/api/ice")
        assert Client(door).ask("GET", "/api/ice", Authorization=None)[0] == 401
    assert headers["link"] == '<stun:127.0.0.1:9>; rel="ice-server"'
    assert json.loads(told) == [{"urls": "stun:127.0.0.1:9"}]


def test_what_is_no_server_is_refused_before_the_start() -> None:
    with pytest.raises(SettingsError, match="stun:HOST"), open_door(WebSettings(port=0, ice=("hello",))):
        pass


def test_candidates_can_come_later(client: Client) -> None:
    _, headers, _ = client.ask("POST", "/whip", OBS)
    place, tag = headers["location"], headers["etag"]
    late = "a=mid:0\r\na=candidate:2 1 UDP 1 127.0.0.1 50001 typ host\r\na=end-of-candidates\r\n"

    def patch(body: str, **more: str | None) -> int:
        return client.ask("PATCH", place, body, **{"Content_Type": FRAGMENT, **more})[0]

    assert patch(late, If_Match=tag) == 204
    assert patch(late) == 204
    assert patch(late, If_Match='"other"') == 412
    assert patch(late, If_Match="*") == 501
    assert patch("hello", If_Match=tag) == 400
    assert patch("a=candidate:nonsense\r\n", If_Match=tag) == 400
    assert patch(late, If_Match=tag, Content_Type=SDP) == 415
    assert patch(late, If_Match=tag, Authorization=None) == 401
    assert client.ask("DELETE", place)[0] == 200
    assert patch(late) == 404


def test_a_viewer_is_let_in(client: Client) -> None:
    offer = OBS.replace("a=sendonly", "a=recvonly")
    status, headers, answer = client.ask("POST", "/whep", offer)
    assert status == 201
    assert headers["location"].startswith("/whep/")
    assert "a=sendonly" in answer
    assert client.ask("DELETE", headers["location"].replace("whep", "whip"))[0] == 404
    assert client.ask("DELETE", headers["location"])[0] == 200


@pytest.mark.parametrize(
    ("path", "offer", "status"),
    [
        ("/whip", "", 400),
        ("/whip", "hello", 400),
        ("/whip", "v=0\r\n", 406),
        ("/whip", '{"sdp": ""}', 400),
        ("/whip", OBS[:700], 400),
        ("/whip", OBS.replace("m=video", "m=vid eo"), 400),
        ("/whip", OBS.replace("a=ice-ufrag:xp7b\r\n", ""), 400),
        ("/whip", OBS.replace("a=fingerprint", "a=finger"), 400),
        ("/whip", OBS.replace("a=rtcp-mux\r\n", ""), 400),
        ("/whip", OBS.replace("H264/90000", "H265/90000"), 406),
        ("/whip", OBS.replace("H264/90000", "AV1/90000"), 406),
        ("/whip", OBS.replace("packetization-mode=1", "packetization-mode=0"), 406),
        ("/whip", OBS.replace("a=sendonly", "a=recvonly"), 406),
        ("/whip", OBS.replace("a=sendonly", "a=inactive"), 406),
        ("/whep", OBS, 406),
    ],
)
def test_what_cannot_be_served_is_told_apart(client: Client, path: str, offer: str, status: int) -> None:
    given, headers, text = client.ask("POST", path, offer)
    assert given == status
    assert "location" not in headers
    assert text.count("\n") == 1


@pytest.mark.parametrize("body", [b"\xff\xfe", b"v=0\r\n\xff"])
def test_what_is_no_text_is_refused(client: Client, body: bytes) -> None:
    assert client.ask("POST", "/whip", body)[0] == 400


def test_a_long_body_is_not_read(client: Client) -> None:
    assert client.ask("POST", "/whip", OBS + "a=x\r\n" * (MAX_BYTES // 5))[0] == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": None}, 415),
    ],
)
def test_who_may_not_is_refused_before_the_offer_is_read(
    client: Client, headers: dict[str, str | None], status: int
) -> None:
    given, answered, _ = client.ask("POST", "/whip", OBS, **headers)
    assert given == status
    assert ("www-authenticate" in answered) == (status == 401)


def test_a_site_that_has_leave_passes_the_preflight(client: Client) -> None:
    status, headers, _ = client.ask(
        "OPTIONS", "/whip", Origin="https://studio.example", Authorization=None, Content_Type=None
    )
    assert status == 204
    assert headers["access-control-allow-origin"] == "https://studio.example"
    assert "Authorization" in headers["access-control-allow-headers"]
    assert "Location" in headers["access-control-expose-headers"]
    assert headers["accept-post"] == SDP
    status, headers, _ = client.ask("OPTIONS", "/whip", Origin="https://evil.example", Authorization=None)
    assert status == 403
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
def test_other_methods_are_not_allowed(client: Client, method: str) -> None:
    status, headers, _ = client.ask(method, "/whip")
    assert status == 405
    assert "POST" in headers["allow"]


def test_the_page_is_open_and_the_figures_are_not(client: Client) -> None:
    status, headers, page = client.ask("GET", "/", Authorization=None)
    assert (status, "<title>LiveFusion</title>" in page) == (200, True)
    assert "default-src 'self'" in headers["content-security-policy"]
    for name in ("main.js", "screen.js", "session.js", "camera.js", "statistics.js", "style.css", "icon.svg"):
        assert client.ask("GET", f"/{name}", Authorization=None)[0] == 200, name
    assert client.ask("GET", "/api/sessions", Authorization=None)[0] == 401
    assert client.ask("GET", "/api/sessions")[0] == 200
    assert client.ask("GET", "/../door.py")[0] == 404


def test_mutated_offers_meet_a_typed_refusal_or_an_answer(client: Client) -> None:
    """Never a fault of ours (500), and the server lives on."""
    chance = random.Random(5)
    seen = set()
    for _ in range(150):
        status, headers, _ = client.ask("POST", "/whip", mutated(OBS, chance))
        seen.add(status)
        assert status in {201, 400, 406}
        if status == 201:
            client.ask("DELETE", headers["location"])
    assert seen == {201, 400, 406}
    assert client.ask("POST", "/whip", OBS)[0] == 201


def mutated(offer: str, chance: random.Random) -> str:
    """An offer with some of its lines lost, doubled, swapped or damaged."""
    lines = offer.split("\r\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                cut = chance.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:cut]
            case _:
                place = chance.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + chance.choice([" ", ":", "=", "\0", "é", "-1", "9" * 20, "/"])
    return "\r\n".join(lines)


def test_a_port_that_is_taken_is_said_in_a_line(door: Door) -> None:
    port = int(door.address.rsplit(":", 1)[1])
    with pytest.raises(DriverError, match="--port"), open_door(WebSettings(port=port)):
        pass


def test_a_token_is_made_where_none_is_given_and_kept() -> None:
    with open_door(WebSettings(port=0)) as one, open_door(WebSettings(port=0)) as other:
        assert len(one.token) >= 16
        assert one.token == other.token
        assert one.page == f"{one.address}/#token={one.token}"


def test_no_file_of_the_page_comes_from_elsewhere() -> None:
    from livefusion.server.app import PAGE

    for path in Path(PAGE).iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
