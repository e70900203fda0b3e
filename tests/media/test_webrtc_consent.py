"""A peer that sends is there, whether or not it answers."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("aiortc", reason="needs the extra webrtc")

from aioice.stun import TransactionTimeout
from aiortc import RTCPeerConnection

from livefusion.core.errors import MachineError
from livefusion.media.webrtc.consent import (
    CONNECTION_NAMES,
    GATHERER_NAMES,
    PEER_NAMES,
    PROTOCOL_NAMES,
    keep_while_heard,
)

pytestmark = pytest.mark.unit


class Protocol:
    """Of aioice, as far as it is asked."""

    def __init__(self, *, answers: bool) -> None:
        self.answers = answers
        self.asked: list[Any] = []

    async def request(
        self, request: Any, addr: Any, integrity_key: Any = None, retransmissions: int | None = None
    ) -> Any:
        self.asked.append((request, addr, integrity_key, retransmissions))
        if not self.answers:
            raise TransactionTimeout
        return "answer", addr


def asked(protocol: Protocol, *, heard: bool, retransmissions: int | None = 0) -> Any:
    connection = SimpleNamespace(_protocols=[protocol])
    transport = SimpleNamespace(iceGatherer=SimpleNamespace(_connection=connection))
    peer: Any = SimpleNamespace(**{PEER_NAMES[0]: [transport]})
    keep_while_heard(peer, lambda: heard)
    call: Any = protocol.request
    return asyncio.run(call("question", "there", integrity_key=b"k", retransmissions=retransmissions))


@pytest.mark.parametrize("heard", [False, True])
def test_an_answer_is_passed_on(heard: bool) -> None:
    protocol = Protocol(answers=True)
    assert asked(protocol, heard=heard) == ("answer", "there")
    assert protocol.asked == [("question", "there", b"k", 0)]


def test_who_is_heard_need_not_answer() -> None:
    assert asked(Protocol(answers=False), heard=True)


def test_who_is_silent_must() -> None:
    with pytest.raises(TransactionTimeout):
        asked(Protocol(answers=False), heard=False)


def test_a_way_is_not_found_by_what_is_heard() -> None:
    with pytest.raises(TransactionTimeout):
        asked(Protocol(answers=False), heard=True, retransmissions=None)


def test_the_names_that_are_leaned_on_are_there() -> None:
    async def lacking() -> list[str]:
        from aioice.ice import StunProtocol

        peer = RTCPeerConnection()
        peer.addTransceiver("video")
        gatherers = [one.iceGatherer for one in getattr(peer, PEER_NAMES[0])]
        assert gatherers
        parts = ((gatherers[0], GATHERER_NAMES), (gatherers[0]._connection, CONNECTION_NAMES))
        missing = [
            name
            for part, names in (*parts, (StunProtocol, PROTOCOL_NAMES))
            for name in names
            if not hasattr(part, name)
        ]
        await peer.close()
        return missing

    assert asyncio.run(lacking()) == []


def test_an_aiortc_without_them_is_refused() -> None:
    peer: Any = object()
    with pytest.raises(MachineError, match="has no _RTCPeerConnection"):
        keep_while_heard(peer, lambda: True)
