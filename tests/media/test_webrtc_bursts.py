"""Datagrams of a peer are read in bursts: all that lie there, in order, in one turn of the loop."""

import asyncio
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from livefusion.core.errors import MachineError
from livefusion.media.webrtc.bursts import (
    CONNECTION_NAMES,
    LOOP_NAMES,
    MOST,
    TRANSPORT_NAMES,
    read_in_bursts,
)

pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif(sys.platform == "win32", reason="its loop has no readers"),
]


class Protocol(asyncio.DatagramProtocol):
    """Notes what comes, and in which turn of the loop."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.turn = 0
        self.datagrams: list[bytes] = []
        self.turns: list[int] = []
        self.errors: list[Exception] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.datagrams.append(data)
        self.turns.append(self.turn)

    def error_received(self, exc: Exception) -> None:
        self.errors.append(exc)


async def listen(*, bursts: bool = True, remote: Any = None) -> Protocol:
    loop = asyncio.get_running_loop()
    local = ("127.0.0.1", 0) if remote is None else None
    _, protocol = await loop.create_datagram_endpoint(Protocol, local_addr=local, remote_addr=remote)
    await asyncio.sleep(0)  # asyncio adds its own reader now
    if bursts:
        read_in_bursts(SimpleNamespace(_protocols=[protocol]))
    return protocol


async def receive(protocol: Protocol, sent: list[bytes]) -> None:
    """Have all sent before the loop looks, and read."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for datagram in sent:
            sender.sendto(datagram, protocol.transport.get_extra_info("sockname"))
    for _ in range(400):
        protocol.turn += 1
        await asyncio.sleep(0)
        if len(protocol.datagrams) == len(sent):
            break


def test_a_picture_of_many_datagrams_takes_one_turn_where_asyncio_takes_one_for_each() -> None:
    sent = [bytes([number]) * (number + 1) for number in range(MOST)]

    async def turns(*, bursts: bool) -> int:
        protocol = await listen(bursts=bursts)
        await receive(protocol, sent)
        protocol.transport.close()
        assert protocol.datagrams == sent
        return len(set(protocol.turns))

    assert asyncio.run(turns(bursts=True)) == 1
    assert asyncio.run(turns(bursts=False)) == MOST


def test_more_than_a_burst_lets_others_have_their_turn() -> None:
    async def run() -> tuple[list[bytes], list[int]]:
        protocol = await listen()
        await receive(protocol, [b"%d" % number for number in range(MOST + 10)])
        protocol.transport.close()
        return protocol.datagrams, protocol.turns

    datagrams, turns = asyncio.run(run())
    assert datagrams == [b"%d" % number for number in range(MOST + 10)]
    assert turns.count(turns[0]) == MOST
    assert len(set(turns)) == 2


@pytest.mark.parametrize("size", [0, 1, 1500, 65_507])
def test_a_datagram_of_any_size_comes_whole(size: int) -> None:
    async def run() -> list[bytes]:
        protocol = await listen()
        await receive(protocol, [b"x" * size, b"next"])
        protocol.transport.close()
        return protocol.datagrams

    assert asyncio.run(run()) == [b"x" * size, b"next"]


def test_a_refused_datagram_of_ours_is_told_and_reading_goes_on() -> None:
    async def run() -> list[Exception]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
            gone.bind(("127.0.0.1", 0))
            address = gone.getsockname()
        protocol = await listen(remote=address)
        protocol.transport.sendto(b"anybody?")
        for _ in range(200):
            await asyncio.sleep(0.005)
            if protocol.errors:
                break
        protocol.transport.close()
        return protocol.errors

    assert [type(error) for error in asyncio.run(run())] == [ConnectionRefusedError]


def test_a_closed_transport_is_read_no_more() -> None:
    async def run() -> list[bytes]:
        protocol = await listen()
        protocol.transport.close()
        await receive(protocol, [])
        return protocol.datagrams

    assert asyncio.run(run()) == []


def test_closing_in_the_middle_of_a_burst_ends_it() -> None:
    async def run() -> list[bytes]:
        protocol = await listen()
        note = protocol.datagram_received

        def close_after_two(data: bytes, addr: Any) -> None:
            note(data, addr)
            if len(protocol.datagrams) == 2:
                protocol.transport.abort()

        protocol.datagram_received = close_after_two  # type: ignore[method-assign]
        await receive(protocol, [b"1", b"2", b"3"])
        return protocol.datagrams

    assert asyncio.run(run()) == [b"1", b"2"]


def test_the_names_that_are_leaned_on_are_there() -> None:
    aioice = pytest.importorskip("aioice", reason="needs the extra webrtc")

    async def run() -> None:
        protocol = await listen(bursts=False)
        parts = (
            (aioice.Connection(ice_controlling=True), CONNECTION_NAMES),
            (protocol.transport, TRANSPORT_NAMES),
            (asyncio.get_running_loop(), LOOP_NAMES),
        )
        lacking = [name for part, names in parts for name in names if not hasattr(part, name)]
        protocol.transport.close()
        assert not lacking
        assert type(protocol.transport).__module__ == "asyncio.selector_events"

    asyncio.run(run())


def test_an_aioice_without_them_is_refused() -> None:
    async def run() -> None:
        read_in_bursts(object())

    with pytest.raises(MachineError, match="no _protocols"):
        asyncio.run(run())


def test_relayed_candidates_are_left_alone() -> None:
    async def run() -> None:
        read_in_bursts(SimpleNamespace(_protocols=[SimpleNamespace(transport=object())]))

    asyncio.run(run())
