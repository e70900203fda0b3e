"""The echo that measurements compare with: a peer's own packets, sent back as they are."""

import threading

import pytest

pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.media.encode.outlet import DueSound, EncodedPicture
from livefusion.media.webrtc import publisher
from livefusion.media.webrtc.assemble import CodedPicture, CodedPictures
from livefusion.media.webrtc.decode import DecoderFeed
from livefusion.media.webrtc.exchange import Exchange
from livefusion.testing.echo import EchoFeed, echoing

pytestmark = pytest.mark.unit

KEY = b"\x00\x00\x01\x67p\x00\x00\x01\x65k"
OTHER = b"\x00\x00\x01\x41o"


def test_packets_come_back_as_they_are_and_a_key_frame_is_asked_of_the_sender() -> None:
    exchange = Exchange.make()
    damaged: list[int] = []
    feed = EchoFeed(exchange.outlet, None, lambda: damaged.append(1))
    back: list[EncodedPicture | DueSound] = []
    exchange.outlet.attach(back.append)  # who comes asks for one
    feed.put((None, CodedPictures([CodedPicture(KEY, 1, 0), CodedPicture(OTHER, 2, 0)])))
    assert back == [EncodedPicture(KEY, 1, True), EncodedPicture(OTHER, 2, False)]
    assert damaged == [1]


def test_its_thread_ends() -> None:
    feed = EchoFeed(Exchange.make().outlet, None, lambda: None)
    thread = threading.Thread(target=feed.get)
    thread.start()
    feed.put(None)
    thread.join(10)
    assert not thread.is_alive()


def test_publishers_echo_inside_the_block_alone() -> None:
    with echoing(Exchange.make()):
        made = vars(publisher)["DecoderFeed"](lambda picture, coded: None, lambda: None)
        assert isinstance(made, EchoFeed)
    assert vars(publisher)["DecoderFeed"] is DecoderFeed
