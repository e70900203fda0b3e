"""Peers of aiortc on the loopback against our desk: what is sent arrives, and loss is survived."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import av
import numpy as np
import pytest

aiortc = pytest.importorskip("aiortc", reason="needs the extra webrtc")

from aiortc import (  # noqa: E402
    MediaStreamTrack,
    RTCPeerConnection,
    RTCRtpReceiver,
    RTCRtpSender,
    RTCSessionDescription,
)

from livefusion.core.errors import MachineError  # noqa: E402
from livefusion.core.geometry import Size  # noqa: E402
from livefusion.media.encode.outlet import TIME_BASE, EncodedPicture  # noqa: E402
from livefusion.media.webrtc import compat  # noqa: E402
from livefusion.media.webrtc.desk import Desk, Session  # noqa: E402
from livefusion.media.webrtc.exchange import Exchange  # noqa: E402
from livefusion.media.webrtc.inlet import ReceivedPicture, SenderGone  # noqa: E402
from livefusion.media.webrtc.loop import LoopThread  # noqa: E402
from livefusion.media.webrtc.names import require_names  # noqa: E402
from livefusion.media.webrtc.offer import UnsupportedOfferError  # noqa: E402
from livefusion.testing.webrtc import LossyRelay, numbered_picture, read_number  # noqa: E402

pytestmark = [
    pytest.mark.net,
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SIZE = Size(320, 180)
PATIENCE = 20.0


class H264:
    """x264 as a foreign sender has it, with key frames only when asked for."""

    def __init__(self, profile: str = "baseline") -> None:
        self._context: Any = av.CodecContext.create("libx264", "w")
        self._context.width, self._context.height, self._context.pix_fmt = SIZE.width, SIZE.height, "yuv420p"
        self._context.time_base, self._context.framerate = TIME_BASE, Fraction(30)
        self._context.bit_rate = 1_500_000
        self._context.options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "g": "100000",
            "forced-idr": "1",
            "profile": profile,
        }
        self.keys = 0

    def encode(self, number: int, texture: np.ndarray, *, key: bool) -> EncodedPicture:
        picture = numbered_picture(SIZE, number, texture)
        picture.pts, picture.time_base = number * 3000, TIME_BASE
        kinds = av.video.frame.PictureType
        picture.pict_type = kinds.I if key else kinds.NONE
        (packet,) = self._context.encode(picture)
        self.keys += bool(packet.is_keyframe)
        return EncodedPicture(bytes(packet), number * 3000, bool(packet.is_keyframe))


class NumberTrack(MediaStreamTrack):
    """Numbered pictures at 30 a second, encoded; a key frame at once when ``key`` is set."""

    kind = "video"

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.key = False
        self._encoder = H264()
        self._random = np.random.default_rng(1)
        self._start = 0.0

    @property
    def keys(self) -> int:
        return self._encoder.keys

    async def recv(self) -> av.Packet:
        self._start = self._start or time.monotonic()
        await asyncio.sleep(max(0.0, self._start + self.number / 30 - time.monotonic()))
        texture = self._random.integers(100, 150, (SIZE.height, SIZE.width), dtype=np.uint8)
        coded = self._encoder.encode(self.number, texture, key=self.key)
        self.key = False
        self.number += 1
        packet = av.Packet(coded.data)
        packet.pts, packet.time_base = coded.pts, TIME_BASE
        return packet


class ForeignSender:
    """An aiortc peer, unpatched but for key requests, that sends numbered pictures."""

    def __init__(self) -> None:
        self.peer = RTCPeerConnection()
        self.track = NumberTrack()
        self.sender = self.peer.addTrack(self.track)
        wanted = [one for one in RTCRtpSender.getCapabilities("video").codecs if one.name in {"H264", "rtx"}]
        self.peer.getTransceivers()[0].setCodecPreferences(wanted)
        self.sender._send_keyframe = self._on_key

    def _on_key(self) -> None:
        self.track.key = True

    async def join(self, desk: Desk) -> Session:
        await self.peer.setLocalDescription(await self.peer.createOffer())
        session = await desk.admit("publisher", self.peer.localDescription.sdp)
        await self.peer.setRemoteDescription(RTCSessionDescription(session.answer, "answer"))
        await connected(self.peer)
        return session


async def connected(peer: RTCPeerConnection) -> None:
    async with asyncio.timeout(PATIENCE):
        while peer.connectionState != "connected":
            await asyncio.sleep(0.01)


class ForeignViewer:
    """An aiortc peer that watches and notes the numbers it sees."""

    def __init__(self) -> None:
        self.peer = RTCPeerConnection()
        self.peer.addTransceiver("video", direction="recvonly")
        self.peer.addTransceiver("audio", direction="recvonly")
        self.seen: list[tuple[int, float]] = []
        self.peer.on("track", self._on_track)
        self._tasks: list[asyncio.Task[None]] = []

    def _on_track(self, track: Any) -> None:
        if track.kind == "video":
            self._tasks.append(asyncio.ensure_future(self._watch(track)))

    async def _watch(self, track: Any) -> None:
        while True:
            try:
                picture = await track.recv()
            except aiortc.mediastreams.MediaStreamError:
                return
            self.seen.append((read_number(picture.to_ndarray(format="gray")), time.monotonic()))

    async def join(self, desk: Desk) -> Session:
        await self.peer.setLocalDescription(await self.peer.createOffer())
        session = await desk.admit("viewer", self.peer.localDescription.sdp)
        await self.peer.setRemoteDescription(RTCSessionDescription(session.answer, "answer"))
        await connected(self.peer)
        return session


class Room:
    """A desk on its loop, and what is in it."""

    def __init__(self) -> None:
        from aioice.ice import get_host_addresses

        if not get_host_addresses(use_ipv4=True, use_ipv6=False):
            pytest.skip("this machine has no network but the loopback")
        self.exchange = Exchange.make()
        self.thread = LoopThread()
        self.thread.start()
        self.desk = self.thread.call(self._make())
        self.peers: list[RTCPeerConnection] = []

    async def _make(self) -> Desk:
        return Desk(self.exchange)

    def sender(self) -> tuple[ForeignSender, Session]:
        async def make() -> tuple[ForeignSender, Session]:
            sender = ForeignSender()
            self.peers.append(sender.peer)
            return sender, await sender.join(self.desk)

        return self.thread.call(make(), PATIENCE)

    def viewer(self) -> tuple[ForeignViewer, Session]:
        async def make() -> tuple[ForeignViewer, Session]:
            viewer = ForeignViewer()
            self.peers.append(viewer.peer)
            return viewer, await viewer.join(self.desk)

        return self.thread.call(make(), PATIENCE)

    def take(self) -> ReceivedPicture:
        taken = self.exchange.inlet.take(PATIENCE)
        assert isinstance(taken, ReceivedPicture), "no picture came"
        return taken

    def close(self) -> None:
        async def close() -> None:
            await self.desk.close()
            for peer in self.peers:
                await peer.close()

        self.thread.call(close(), PATIENCE)
        self.thread.stop()


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    yield made
    made.close()


def number_of(taken: ReceivedPicture) -> int:
    return read_number(taken.picture.to_ndarray(format="gray"))


def settled(room: Room, sender: ForeignSender) -> int:
    """How many key frames were sent once pictures come steadily."""
    for _ in range(10):
        room.take()
    return sender.track.keys


def until(condition: Callable[[], bool]) -> None:
    end = threading.Event()
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        end.wait(0.01)


@pytest.mark.parametrize("name", compat.RECEIVER_NAMES)
def test_a_receiver_has_the_names_that_are_leaned_on(room: Room, name: str) -> None:
    assert hasattr(_part(room, RTCRtpReceiver), name)


@pytest.mark.parametrize("name", [*compat.SENDER_NAMES, "_RTCRtpSender__rtx_payload_type"])
def test_a_sender_has_the_names_that_are_leaned_on(room: Room, name: str) -> None:
    assert hasattr(_part(room, RTCRtpSender), name)


def _part(room: Room, kind: type) -> Any:
    async def make() -> Any:
        peer = RTCPeerConnection()
        room.peers.append(peer)
        transceiver = peer.addTransceiver("video")
        return transceiver.receiver if kind is RTCRtpReceiver else transceiver.sender

    return room.thread.call(make())


def test_an_aiortc_without_such_a_name_is_refused_with_what_to_do() -> None:
    with pytest.raises(MachineError, match=r"has no _gone.*install aiortc"):
        require_names(object(), ["_gone"])


def test_pictures_come_in_order_and_with_their_own_time(room: Room) -> None:
    room.sender()
    taken = [room.take() for _ in range(20)]
    numbers = [number_of(one) for one in taken]
    assert numbers == sorted(set(numbers))
    for one, another in pairwise(taken):
        steps = number_of(another) - number_of(one)
        assert (another.rtp_time - one.rtp_time) % 2**32 == 3000 * steps
        assert another.arrived_ns > one.arrived_ns


def test_the_last_publisher_wins_and_its_end_is_told(room: Room) -> None:
    _, first = room.sender()
    room.take()
    _, second = room.sender()
    until(lambda: room.desk.find(first.name) is None)
    assert room.exchange.inlet.take(PATIENCE) == SenderGone()
    room.take()
    room.thread.call(room.desk.dismiss(second), PATIENCE)
    taken: Any = None
    while not isinstance(taken, SenderGone):
        taken = room.exchange.inlet.take(PATIENCE)
        assert taken is not None
    assert room.desk.sessions == ()


def test_a_packet_lost_twice_is_asked_for_again(room: Room) -> None:
    sender, session = room.sender()
    keys = settled(room, sender)
    relay = LossyRelay(lose=frozenset({60}), first_repeats=1)
    relay.stand_before(sender.sender)
    until(lambda: relay.lost == 2)
    lost = sender.track.number
    while number_of(room.take()) <= lost:
        pass
    assert session.party.figures["gaps_given_up"] == 0
    assert sender.track.keys == keys


def test_a_packet_that_never_comes_ends_in_a_key_frame(room: Room) -> None:
    sender, session = room.sender()
    keys = settled(room, sender)
    relay = LossyRelay(lose=frozenset({60}), first_repeats=10_000)
    relay.stand_before(sender.sender)
    until(lambda: session.party.figures["gaps_given_up"] > 0)
    given_up = sender.track.number
    while number_of(room.take()) <= given_up:
        pass
    assert sender.track.keys > keys


@pytest.mark.parametrize("viewers", [1, 2])
def test_what_the_graph_encodes_once_reaches_all_who_watch(room: Room, viewers: int) -> None:
    watching = [room.viewer()[0] for _ in range(viewers)]
    until(lambda: room.exchange.outlet.viewers == viewers)
    play(room, lambda: all(len(one.seen) >= 20 for one in watching))
    for one in watching:
        numbers = [number for number, _ in one.seen]
        assert numbers == sorted(set(numbers))


def test_a_viewer_that_asks_for_a_key_frame_gets_one_with_the_next_picture(room: Room) -> None:
    viewer, _ = room.viewer()
    until(lambda: room.exchange.outlet.viewers == 1)
    asked = room.exchange.outlet.key_requests
    play(room, lambda: len(viewer.seen) >= 5)
    receiver = viewer.peer.getTransceivers()[0].receiver
    hooks = compat.ReceiverHooks(receiver)
    stream = hooks.stream
    assert stream is not None
    room.thread.call(hooks.ask_key(stream), PATIENCE)
    until(lambda: room.exchange.outlet.key_requests > asked)
    assert room.exchange.outlet.take_key_request()


def play(room: Room, done: Callable[[], bool]) -> None:
    """What the sink does, until ``done``: encode at 30 a second, with the key frames that are asked for."""
    encoder, pause = H264(), threading.Event()
    texture = np.full((SIZE.height, SIZE.width), 90, np.uint8)
    for number in range(1000):
        if done():
            return
        key = room.exchange.outlet.take_key_request()
        room.exchange.outlet.send(encoder.encode(number, texture, key=key))
        pause.wait(1 / 30)
    raise AssertionError("it did not happen")


def test_viewers_that_leave_are_let_go(room: Room) -> None:
    viewer, session = room.viewer()
    until(lambda: room.exchange.outlet.viewers == 1)
    room.thread.call(viewer.peer.close(), PATIENCE)
    until(lambda: room.desk.find(session.name) is None)
    assert room.exchange.outlet.viewers == 0


@pytest.mark.parametrize("profile", ["4d0028", "64001f", "640c1f", "42e01f", "42001e"])
def test_every_profile_of_h264_is_taken(room: Room, profile: str) -> None:
    session = room.thread.call(room.desk.admit("publisher", offer_of(room, profile)), PATIENCE)
    assert f"profile-level-id={profile[:4]}" in session.answer


@pytest.mark.parametrize("codec", ["VP8", "H265", "AV1"])
def test_no_other_codec_is(room: Room, codec: str) -> None:
    offer = offer_of(room, "42e01f").replace("H264/90000", f"{codec}/90000")
    with pytest.raises(UnsupportedOfferError, match=r"H\.264"):
        room.thread.call(room.desk.admit("publisher", offer), PATIENCE)
    assert room.desk.sessions == ()


def offer_of(room: Room, profile: str) -> str:
    """What a peer offers that sends H.264 in one profile only."""

    async def make() -> str:
        peer = RTCPeerConnection()
        room.peers.append(peer)
        transceiver = peer.addTransceiver(NumberTrack(), direction="sendonly")
        preferences = compat.h264_preferences()
        known = [one for one in preferences if one.parameters.get("profile-level-id") == "42e01f"]
        transceiver.setCodecPreferences(known)
        await peer.setLocalDescription(await peer.createOffer())
        return str(peer.localDescription.sdp).replace("42e01f", profile)

    return room.thread.call(make(), PATIENCE)
