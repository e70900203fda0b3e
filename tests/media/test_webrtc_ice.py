"""Which way peers find to us."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("aiortc", reason="needs the extra webrtc")

from aiortc import RTCPeerConnection

from livefusion.core.errors import MachineError, SettingsError
from livefusion.media.webrtc import compat, connection
from livefusion.media.webrtc.connection import Connection
from livefusion.media.webrtc.ice import IceServer, Reach, is_loopback, read_links, read_server

pytestmark = [
    pytest.mark.net,
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("stun:stun.example.org", IceServer("stun:stun.example.org")),
        ("stun:192.0.2.1:3478", IceServer("stun:192.0.2.1:3478")),
        ("turn:me:s3cret@example.org", IceServer("turn:example.org", "me", "s3cret")),
        ("turn:a%40b:x%3Ay@h:99?transport=tcp", IceServer("turn:h:99?transport=tcp", "a@b", "x:y")),
        ("turns:me:s@h:5349", IceServer("turns:h:5349?transport=tcp", "me", "s")),
    ],
)
def test_servers_as_settings_have_them(text: str, server: IceServer) -> None:
    assert read_server(text) == server


@pytest.mark.parametrize(
    "text",
    ["", "stun", "stun:", "http://x", "turn:h", "stun:u:hush@h", "turn:u:hush@", "turn:u:hush@h?transport=x"],
)
def test_what_is_no_server(text: str) -> None:
    with pytest.raises(SettingsError, match="stun:HOST") as caught:
        read_server(text)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "server",
    [
        IceServer("stun:h:1"),
        IceServer("turn:h:1?transport=udp", "me", 'quo"te\\d'),
    ],
)
def test_links_say_what_was_told(server: IceServer) -> None:
    assert read_links([server.link]) == (server,)
    assert read_links([f"{server.link}, {server.link}"]) == (server, server)
    assert server.password not in repr(server) or not server.password


@pytest.mark.parametrize(
    "header",
    ["", "<https://x>; rel=next", '<stun:h>; rel="icon"', "<stun:h", '<stun:[::1]>; rel="ice-server"'],
)
def test_other_links_are_passed_over(header: str) -> None:
    assert read_links([header]) == ()


def gathered(reach: Reach) -> list[tuple[str, str]]:
    """The candidates of an offer: (type, address)."""

    async def run() -> list[tuple[str, str]]:
        made = Connection(reach)
        made.peer.addTransceiver("video")
        try:
            offer = await made.offer()
        finally:
            await made.close()
        lines = [line.split() for line in offer.splitlines() if line.startswith("a=candidate:")]
        return [(line[7], line[4]) for line in lines]

    return asyncio.run(run())


def test_who_listens_on_this_machine_alone_is_met_there_alone() -> None:
    found = gathered(Reach(local=True))
    assert ("host", "127.0.0.1") in found
    assert all(is_loopback(address) for _, address in found)


def test_who_listens_to_the_network_is_met_there() -> None:
    from aioice.ice import get_host_addresses

    found = {address for _, address in gathered(Reach())}
    assert found <= set(get_host_addresses(use_ipv4=True, use_ipv6=True))


@pytest.fixture
def silent() -> Iterator[int]:
    """A port on which a server is that never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        yield made.getsockname()[1]


def test_a_silent_server_is_not_waited_for(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    wait = asyncio.wait

    async def noted(tasks: Any, *, timeout: float | None = None, **more: Any) -> Any:
        if timeout is not None:
            waited.append(timeout)
            timeout = 0.01
        return await wait(tasks, timeout=timeout, **more)

    monkeypatch.setattr(asyncio, "wait", noted)
    gathered(Reach((IceServer(f"stun:127.0.0.1:{silent}"),)))
    assert set(waited) <= {connection.GATHER_SECONDS}
    assert connection.GATHER_SECONDS <= 1


def test_an_aioice_without_the_names_is_refused() -> None:
    async def run() -> None:
        peer = RTCPeerConnection()
        peer.addTransceiver("video")
        (transport,) = getattr(peer, compat.PEER_NAMES[0])
        assert all(hasattr(transport.iceGatherer, name) for name in compat.GATHERER_NAMES)
        assert all(hasattr(transport.iceGatherer._connection, name) for name in compat.CONNECTION_NAMES)
        transport.iceGatherer._connection = object()
        with pytest.raises(MachineError, match="get_component_candidates"):
            compat.limit_candidates(peer, 1.0, None)

    asyncio.run(run())
