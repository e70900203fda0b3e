"""Ways to hold the door that take many connections or much time, and what each must get."""

import socket
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Final

import psutil

from livefusion.core.settings import WebSettings
from livefusion.server.door import Door
from livefusion.server.limits import Limits, Rate
from livefusion.testing.door_knocks import (
    DEFAULTS,
    KNOCKS,
    SDP,
    TOKEN,
    Attack,
    Verdict,
    ask,
    authorised,
    place_of,
    still_serves,
)

_QUICK = Limits(head_seconds=3.0, body_seconds=1.0, idle_seconds=1.0)
_UNCOUNTED = replace(DEFAULTS, requests=Rate(10**6, 10**6), offers=Rate(10**6, 10**6))
_PATIENCE = 20.0
_MEBIBYTE = 1 << 20
_FINGERPRINT = ":".join(f"{byte:02X}" for byte in range(32))
_OFFER = f"""v=0
o=- 1 0 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
m=video 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=mid:0
a=recvonly
a=rtcp-mux
a=setup:actpass
a=ice-ufrag:xp7b
a=ice-pwd:eWxH1jCdrEkpWIRsRzbkrz
a=fingerprint:sha-256 {_FINGERPRINT}
a=rtpmap:96 H264/90000
a=fmtp:96 profile-level-id=42e01f;packetization-mode=1
""".replace("\n", "\r\n").encode()
"""A viewer that never connects."""


def _connect(door: Door) -> socket.socket:
    host, _, port = place_of(door).rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), _PATIENCE)


@contextmanager
def _sockets(door: Door, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(_connect(door)) for _ in range(count)]


def _is_over(one: socket.socket) -> bool:
    """Whether the other side hung up; waits for it."""
    one.settimeout(_PATIENCE)
    with suppress(ConnectionError):
        while one.recv(4096):
            pass
    return True


def _slow_head(door: Door) -> Verdict:
    """300 connections send a header that never ends, a byte now and then."""
    with _sockets(door, 300) as held:
        answered = 0
        for byte in b"GET / HTTP/1.1\r\n":
            for one in held:
                with suppress(OSError):
                    one.send(bytes([byte]))
            answered += still_serves(door)
        try:
            over = sum(_is_over(one) for one in held)
        except TimeoutError:
            over = -1
    got = f"{over} hung up, {answered} of 16 honest requests answered meanwhile"
    return Verdict(got, over == 300 and answered == 16)


def _slow_body(door: Door) -> Verdict:
    """A body that is announced and does not come."""
    with _sockets(door, 20) as held:
        for one in held:
            one.sendall(
                f"POST /whip HTTP/1.1\r\nHost: {place_of(door)}\r\nAuthorization: {authorised()}\r\n"
                f"Content-Type: {SDP}\r\nContent-Length: 1000\r\n\r\nv=0".encode()
            )
        served = still_serves(door)
        statuses = Counter(one.recv(64).split(b" ")[1:2][0].decode() for one in held)
        over = sum(_is_over(one) for one in held)
    held_out = statuses == {"408": 20} and over == 20 and served
    return Verdict(", ".join(f"{n} × {status}" for status, n in statuses.items()), held_out)


def _idle(door: Door) -> Verdict:
    """500 connections that ask once, and stay."""
    port = int(place_of(door).rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(500):
            one = stack.enter_context(_connect(door))
            one.sendall(f"GET / HTTP/1.1\r\nHost: {place_of(door)}\r\n\r\n".encode())
        served = still_serves(door)
        ours = psutil.Process().net_connections("tcp")
        kept = sum(one.laddr.port == port and one.status == psutil.CONN_ESTABLISHED for one in ours)
    return Verdict(f"{kept} kept, an honest request answered", served and kept <= DEFAULTS.connections)


def _sessions(door: Door) -> Verdict:
    """1,000 sessions that never connect."""
    before = psutil.Process().memory_info().rss
    statuses = Counter(
        ask(door, "POST", "/whep", _OFFER, Authorization=authorised(), Content_Type=SDP)[0]
        for _ in range(1000)
    )
    grown = (psutil.Process().memory_info().rss - before) / _MEBIBYTE
    told = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    held = statuses[201] <= 64 and set(statuses) <= {201, 429, 503} and still_serves(door) and grown < 200
    return Verdict(f"{told}; {grown:.0f} MiB", held)


def _smuggle(door: Door) -> Verdict:
    """A second request hidden in the first by two lengths."""
    hidden = f"GET /api/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: {authorised()}\r\n\r\n"
    with _connect(door) as one:
        one.sendall(
            f"POST / HTTP/1.1\r\nHost: {place_of(door)}\r\nContent-Length: {len(hidden)}\r\n"
            f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}".encode()
        )
        one.settimeout(_PATIENCE)
        got = b""
        with suppress(ConnectionError):
            while data := one.recv(4096):
                got += data
    statuses = [line.split()[1].decode() for line in got.split(b"\r\n") if line.startswith(b"HTTP/1")]
    return Verdict(" and ".join(statuses), statuses == ["400"] and still_serves(door))


def _plain_to_tls(door: Door) -> Verdict:
    """HTTP where the network is let in: nothing is answered. By HTTPS the token is still asked for."""
    with _connect(door) as one:
        one.sendall(
            f"GET /api/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: {authorised()}\r\n\r\n".encode()
        )
        one.settimeout(_PATIENCE)
        got = b""
        with suppress(ConnectionError):
            got = one.recv(64)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(_connect(door)) as safe:
        safe.sendall(b"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        status = safe.recv(64).split(b" ")[1].decode()
    plain = "an answer" if got.startswith(b"HTTP/1") else "no answer"
    return Verdict(f"{plain} by HTTP, {status} by HTTPS", (plain, status) == ("no answer", "401"))


def measured(attack: Attack, door: Door) -> tuple[Verdict, float]:
    """What an attack got, and how many seconds it took."""
    began = time.monotonic()
    verdict = attack.run(door)
    return verdict, time.monotonic() - began


FLOODS: Final = (
    Attack("slow-loris, 300 connections", _slow_head, _QUICK),
    Attack("body that does not come", _slow_body, _QUICK),
    Attack("500 idle connections", _idle, replace(DEFAULTS, requests=Rate(10**6, 10**6))),
    Attack("1,000 sessions from one address", _sessions),
    Attack("1,000 sessions, uncounted", _sessions, _UNCOUNTED),
    Attack("request smuggling", _smuggle),
    Attack(
        "plain HTTP from the network",
        _plain_to_tls,
        settings=WebSettings(host="0.0.0.0", port=0, token=TOKEN),
    ),
)
ATTACKS: Final = KNOCKS + FLOODS
"""All that is tried."""
