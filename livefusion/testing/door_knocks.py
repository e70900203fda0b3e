"""Ways to break in at the door that one request takes, and what each must get."""

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from typing import Final

from livefusion.core.settings import WebSettings
from livefusion.server.door import Door
from livefusion.server.limits import Limits, Rate

TOKEN: Final = "of-the-test-and-of-nothing-else"
SDP: Final = "application/sdp"
DEFAULTS: Final = Limits()
LOOPBACK: Final = WebSettings(port=0, token=TOKEN)
_PATIENCE = 20.0
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an attack got, in a few words, and whether the door held."""

    got: str
    held: bool


@dataclass(frozen=True, slots=True)
class Attack:
    """``run`` attacks a door that listens, opened with these settings and limits."""

    name: str
    run: Callable[[Door], Verdict]
    limits: Limits = DEFAULTS
    settings: WebSettings = LOOPBACK


def place_of(door: Door) -> str:
    """Host and port."""
    return door.address.partition("//")[2]


def ask(
    door: Door, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer; headers are named with _ for -. Status 0: it was hung up."""
    connection = HTTPConnection(place_of(door), timeout=_PATIENCE)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
    except (HTTPException, ConnectionError):
        return 0, {}, b""
    finally:
        connection.close()


def authorised(token: str = TOKEN) -> str:
    """The header that bears a token."""
    return f"Bearer {token}"


def still_serves(door: Door) -> bool:
    """Whether who may come in still can."""
    return ask(door, "GET", "/api/sessions", Authorization=authorised())[0] == 200


def _expect(status: int, *asked: tuple[str, str], body: bytes | None = None, **headers: str) -> "_Run":
    """Each of these requests gets that status, and the door serves on."""

    def run(door: Door) -> Verdict:
        got = sorted({ask(door, method, path, body, **headers)[0] for method, path in asked})
        return Verdict(" and ".join(map(str, got)), got == [status] and still_serves(door))

    return run


_Run = Callable[[Door], Verdict]
_EVERYTHING = (
    ("POST", "/whip"),
    ("POST", "/whep"),
    ("PATCH", "/whip/x"),
    ("DELETE", "/whip/x"),
    ("GET", "/api/sessions"),
    ("GET", "/api/ice"),
)
_TRAVERSALS = (
    "/../door.py",
    "/../../../../../../etc/passwd",
    "/%2e%2e/door.py",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/page/../../app.py",
    "//etc/passwd",
    "/....//....//etc/passwd",
    "/..\\..\\door.py",
    "/main.js/../../access.py",
    "/main.js%00.html",
)


def _guess(door: Door) -> Verdict:
    """A thousand guesses: after the first ten nothing is heard."""
    got = [ask(door, "GET", "/api/sessions", Authorization=authorised(f"{n:020}"))[0] for n in range(1000)]
    heard = got.count(401)
    return Verdict(f"{heard} × 401, {got.count(429)} × 429", (heard, got.count(429)) == (10, 990))


def _traverse(door: Door) -> Verdict:
    answers = [ask(door, "GET", path, Authorization=authorised()) for path in _TRAVERSALS]
    got = sorted({status for status, _, _ in answers})
    secrets = any(b"root:" in body or b"import" in body for status, _, body in answers)
    return Verdict(" and ".join(map(str, got)), set(got) <= {400, 404} and not secrets and still_serves(door))


def _chunked(door: Door) -> Verdict:
    """16 MiB without saying how much it will be."""
    connection = HTTPConnection(place_of(door), timeout=_PATIENCE)
    try:
        headers = {"Authorization": authorised(), "Content-Type": SDP}
        chunks = (bytes(_MEBIBYTE) for _ in range(16))
        connection.request("POST", "/whip", chunks, headers, encode_chunked=True)
        status = connection.getresponse().status
    except (HTTPException, ConnectionError):
        status = 0  # it was hung up before all was sent
    finally:
        connection.close()
    return Verdict(str(status) if status else "hung up", status in {0, 413} and still_serves(door))


def image_bomb(side: int = 20_000) -> bytes:
    """A PNG of ``side``² pixels in about 48 kB for 20,000: 400 megapixels, more than a gigabyte decoded."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    squeezer, packed = zlib.compressobj(9), io.BytesIO()
    row = bytes(1 + (side + 7) // 8)  # one bit a pixel
    for _ in range(side):
        packed.write(squeezer.compress(row))
    packed.write(squeezer.flush())
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed.getvalue()) + chunk(b"IEND", b"")
    )


def _bomb(door: Door) -> Verdict:
    """No route takes pictures: refused by its type, and as an offer because it is no text."""
    bomb = image_bomb()
    as_picture = ask(door, "POST", "/whip", bomb, Authorization=authorised(), Content_Type="image/png")[0]
    as_offer = ask(door, "POST", "/whip", bomb, Authorization=authorised(), Content_Type=SDP)[0]
    held = (as_picture, as_offer) == (415, 400) and still_serves(door)
    return Verdict(f"{as_picture} as picture, {as_offer} as offer ({len(bomb) // 1000} kB)", held)


def _token_elsewhere(door: Door) -> Verdict:
    """In the query, in a cookie, or as a password."""
    got = {
        ask(door, "GET", f"/api/sessions?token={TOKEN}")[0],
        ask(door, "GET", "/api/sessions", Cookie=f"token={TOKEN}")[0],
        ask(door, "GET", "/api/sessions", Authorization=f"Basic {TOKEN}")[0],
    }
    return Verdict(" and ".join(map(str, sorted(got))), got == {401})


def _echo(door: Door) -> Verdict:
    """What an answer says of us: no token, no version, nothing of the request."""
    status, headers, body = ask(door, "GET", "/<script>alert(1)</script>", Authorization=authorised())
    told = f"{headers} {body!r}"
    shy = TOKEN not in told and "alert" not in told and "Traceback" not in told
    strict = "default-src 'self'" in headers.get("content-security-policy", "")
    return Verdict(f"{status}, nothing of it repeated", status == 404 and shy and strict)


KNOCKS: Final = (
    Attack("no token", _expect(401, *_EVERYTHING, Content_Type=SDP)),
    Attack("wrong token", _expect(401, *_EVERYTHING, Content_Type=SDP, Authorization=authorised("wrong"))),
    Attack("token in query, cookie or Basic", _token_elsewhere),
    Attack("1,000 guesses of the token", _guess, replace(DEFAULTS, wrong_tokens=Rate(10, 0.0))),
    Attack(
        "foreign Origin, with the token",
        _expect(403, *_EVERYTHING, Authorization=authorised(), Origin="https://evil.example"),
    ),
    Attack(
        "Origin: null, with the token", _expect(403, *_EVERYTHING, Authorization=authorised(), Origin="null")
    ),
    Attack(
        "another port of localhost, with the token",
        _expect(403, *_EVERYTHING, Authorization=authorised(), Origin="http://localhost:3000"),
    ),
    Attack(
        "Sec-Fetch-Site: cross-site, with the token",
        _expect(403, *_EVERYTHING, Authorization=authorised(), Sec_Fetch_Site="cross-site"),
    ),
    Attack(
        "WebSocket upgrade of a foreign page",
        _expect(
            403,
            *(("GET", "/api/sessions"), ("GET", "/whip"), ("GET", "/")),
            Origin="http://a.example",
            Connection="Upgrade",
            Upgrade="websocket",
            Sec_WebSocket_Version="13",
        ),
    ),
    Attack(
        "rebinding Host",
        _expect(421, ("GET", "/"), *_EVERYTHING, Authorization=authorised(), Host="evil.example"),
    ),
    Attack(
        "Host of another machine's address",
        _expect(421, ("GET", "/"), *_EVERYTHING, Authorization=authorised(), Host="192.0.2.7:8090"),
    ),
    Attack(
        "CSRF form post of a foreign page",
        _expect(
            403,
            ("POST", "/whip"),
            ("POST", "/whep"),
            body=b"sdp=v%3D0",
            Content_Type="application/x-www-form-urlencoded",
            Origin="https://evil.example",
            Sec_Fetch_Site="cross-site",
        ),
    ),
    Attack(
        "form post, with the token",
        _expect(
            415,
            ("POST", "/whip"),
            ("POST", "/whep"),
            body=b"sdp=v%3D0",
            Content_Type="application/x-www-form-urlencoded",
            Authorization=authorised(),
        ),
    ),
    Attack(
        "oversized body",
        _expect(
            413,
            ("POST", "/whip"),
            ("POST", "/whep"),
            body=bytes(_MEBIBYTE),
            Content_Type=SDP,
            Authorization=authorised(),
        ),
    ),
    Attack("oversized body, length not said", _chunked),
    Attack("oversized header", _expect(400, ("GET", "/"), Cookie="x" * 100_000)),
    Attack("path traversal", _traverse),
    Attack(
        "methods that are not there",
        _expect(405, ("PUT", "/whip"), ("TRACE", "/whip"), Authorization=authorised()),
    ),
    Attack("image bomb", _bomb),
    Attack("script in the address", _echo),
)
"""Attacks of one request, or of one after the other."""
