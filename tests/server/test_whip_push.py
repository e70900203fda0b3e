"""Our own WHIP output, with our own door as the server."""

import threading
from collections.abc import Iterator
from fractions import Fraction

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.color import ColorInfo
from livefusion.core.errors import OutputError
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.settings import WebSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.outlet import TIME_BASE
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.webrtc.inlet import ReceivedPicture, SenderGone
from livefusion.media.webrtc.live_sound import LiveSound
from livefusion.media.webrtc.push import WhipPush
from livefusion.media.webrtc.push_sink import WhipSink
from livefusion.runtime.stage import StageContext
from livefusion.server.door import Door, open_door
from livefusion.testing.sound import BeepEncoder
from livefusion.testing.webrtc import numbered_picture, read_number

pytestmark = [
    pytest.mark.net,
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SIZE = Size(320, 180)
PATIENCE = 20.0


@pytest.fixture
def door() -> Iterator[Door]:
    with open_door(WebSettings(port=0, token="s3cret")) as made:
        yield made


def sink(url: str, token: str = "s3cret", audio: LiveSound | None = None) -> WhipSink:
    output = OutputFormat(SIZE, Fraction(30), ColorInfo(), TIME_BASE, audio)
    return WhipSink(url, token, EncoderShare(2_000_000), CpuDevice(), output)


def rendered(seq: int) -> RenderedFrame:
    decoder = FrameDecoder(CpuDevice())
    picture = numbered_picture(SIZE, seq)
    decoder.adapt(picture)
    ts = Timestamp(seq * 3000, TIME_BASE)
    frame = Frame(seq, "t", ts, 0, decoder.size, decoder.color, decoder.convert(picture))
    return RenderedFrame(frame, Outcome.CLEAR)


def write(made: WhipSink, pictures: int) -> None:
    for seq in range(pictures):
        made.write(rendered(seq))


def context() -> StageContext:
    return StageContext("whip", SystemClock())


def test_pictures_reach_the_server_and_the_session_ends_with_the_run(door: Door) -> None:
    made = sink(f"{door.address}/whip")
    made.open(context())
    for seq in range(5):
        made.write(rendered(seq))
        taken = door.exchange.inlet.take(PATIENCE)
        assert isinstance(taken, ReceivedPicture)
        assert read_number(taken.picture.to_ndarray(format="gray")) == seq
    made.close()
    assert door.exchange.inlet.take(PATIENCE) == SenderGone()
    assert (made.stats.frames, made.stats.reconnects, made.stats.errors) == (5, 0, [])


def test_its_sound_reaches_the_server_too(door: Door) -> None:
    sound = LiveSound()
    made = sink(f"{door.address}/whip", audio=sound)
    made.open(context())
    sound.anchor(1, 0, 0)
    for packet in BeepEncoder([]).packets(0.4):
        sound.put(1, packet.data, packet.pts, packet.pts * 90 // 48)
    write(made, 1)
    taken = door.exchange.inlet.take(PATIENCE)
    assert isinstance(taken, ReceivedPicture)
    pause = threading.Event()
    for seq in range(1, 1000):
        if door.exchange.inlet.sound.received > 3:
            break
        made.write(rendered(seq))
        pause.wait(0.03)
    assert door.exchange.inlet.sound.received > 3
    made.close()


def test_servers_that_help_are_asked_where_there_is_no_way_without(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    async def fail(push: WhipPush) -> None:
        tries.append(len(push._viewer.connection._reach.servers))
        raise push._failure("no connection came about")

    monkeypatch.setattr(WhipPush, "_until_connected", fail)
    monkeypatch.setattr("livefusion.media.webrtc.push.is_loopback", lambda host: False)
    settings = WebSettings(port=0, token="s3cret", ice=("stun:127.0.0.1:9",))
    with open_door(settings) as door, pytest.raises(OutputError, match="no connection"):
        sink(f"{door.address}/whip").open(context())
    assert tries == [0, 1]


@pytest.mark.parametrize(
    ("path", "token", "match"),
    [
        ("/whip", "wrong", "401"),
        ("/whip", "", "401"),
        ("/nowhere", "s3cret", "404"),
        ("/whep", "s3cret", "406"),
    ],
)
def test_a_refusal_is_told(door: Door, path: str, token: str, match: str) -> None:
    made = sink(f"{door.address}{path}", token)
    with pytest.raises(OutputError, match=match) as caught:
        made.open(context())
    assert "s3cret" not in str(caught.value)
    assert len(made.stats.errors) == 1


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(OutputError, match=r"127\.0\.0\.1:9 .*refused"):
        sink("http://127.0.0.1:9/whip").open(context())


def test_a_server_that_goes_away_is_noticed_and_can_come_back(door: Door) -> None:
    made = sink(f"{door.address}/whip")
    made.open(context())
    other = sink(f"{door.address}/whip")
    other.open(context())  # the last one wins: the first is sent away
    with pytest.raises(OutputError, match="ended"):
        write(made, 1000)
    made.close()
    made.open(context())
    assert made.stats.reconnects == 1
    made.close()
    other.close()
