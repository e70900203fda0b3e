import socket
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from stream_tools import free_port, nginx, publishing, read_frames

from livefusion.core.errors import DriverError, InputError, OutputError
from livefusion.core.events import Discontinuity, Eos, FormatChange
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.network.source import StreamSource
from livefusion.media.sources.uri import parse_input
from livefusion.runtime.stage import StageContext

pytestmark = pytest.mark.net


def _source(url: str, duration: float | None = None) -> StreamSource:
    address = parse_input(url)
    return StreamSource(address, "input", CpuDevice(), duration=duration)  # type: ignore[arg-type]


def test_a_publisher_that_is_killed_gives_a_card_and_the_next_one_goes_on() -> None:
    url = f"rtmp://127.0.0.1:{free_port()}/live/key"
    source = _source(f"{url}?listen=1")
    opened = threading.Thread(target=source.open, args=(StageContext("decode", SystemClock()),))
    opened.start()
    try:
        with _Persistent(url, "160x120"):
            opened.join()
            assert (source.format.size, source.format.has_audio) == (Size(160, 120), True)
            first = read_frames(source, 5)
        lost = []
        while not any(isinstance(one, Discontinuity) for one in lost):
            lost.append(source.read())
        card = source.read()
        with _Persistent(url, "128x96"):
            again = read_frames(source, 5)
    finally:
        source.close()
    assert isinstance(card, Frame)
    assert card.size == Size(160, 120)
    assert FormatChange in {type(one) for one in again}
    frames = [one for one in (*first, *lost, card, *again) if isinstance(one, Frame)]
    assert frames[-1].size == Size(128, 96)
    assert all(later.ts.pts > one.ts.pts and later.seq == one.seq + 1 for one, later in pairwise(frames))
    assert frames[-1].captured_ns > frames[0].captured_ns
    assert source.losses == 1


def _reach(port: int) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1)
        except OSError:
            continue


class _Persistent:
    """Publishes until it is left; ffmpeg gives up where nobody listens yet, and is started again."""

    def __init__(self, url: str, size: str) -> None:
        self._url = url
        self._size = size
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.is_set():
            with publishing("-f", "flv", self._url, size=self._size) as process:
                while process.poll() is None and not self._done.wait(0.05):
                    pass


def test_datagrams_are_read_with_their_sound() -> None:
    port = free_port(socket.SOCK_DGRAM)
    source = _source(f"udp://127.0.0.1:{port}", duration=1.0)
    with publishing("-f", "mpegts", f"udp://127.0.0.1:{port}?pkt_size=1316"):
        source.open(StageContext("decode", SystemClock()))
        got = []
        while not got or not isinstance(got[-1], Eos):
            got.append(source.read())
        sound = source.audio
        assert sound is not None
        reader = sound.open()
        packets = list(reader.until(0.5))
        reader.close()
        source.close()
    seconds = [one.ts.seconds for one in got if isinstance(one, Frame)]
    assert len(seconds) >= 3
    assert seconds[0] == 0
    assert seconds[-1] < 1.0
    assert all(packet.size == 1024 * 2 * 4 for packet in packets)


def test_a_server_is_called(tmp_path: Path) -> None:
    with nginx(tmp_path) as place, publishing("-f", "flv", f"{place}/key") as publisher:
        source = _source(f"{place}/key")
        for _ in range(5):  # the publisher may need a moment
            try:
                source.open(StageContext("decode", SystemClock()))
            except InputError:
                continue
            break
        read_frames(source, 3)
        publisher.kill()
        lost = []
        while not any(isinstance(one, Discontinuity) for one in lost):
            lost.append(source.read())
        with publishing("-f", "flv", f"{place}/key"):
            again = [one for one in read_frames(source, 4) if isinstance(one, Frame)]
        source.close()
    assert again[-1].ts.pts > again[0].ts.pts


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("rtmp://127.0.0.1:1/live/secret", "nobody answers at rtmp://127.0.0.1:1"),
        ("rtsp://user:secret@127.0.0.1:1/path", "nobody answers at rtsp://127.0.0.1:1"),
        ("rtmp://there-is-no-host.invalid/live/secret", "there is no host there-is-no-host.invalid"),
    ],
)
def test_what_cannot_be_reached(url: str, told: str) -> None:
    source = _source(url)
    with pytest.raises(InputError) as caught:
        source.probe()
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "told"),
    [("401 Unauthorized", "refuses us"), ("404 Not Found", "has no such stream")],
)
def test_what_a_server_of_rtsp_refuses(answer: str, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_refuse, args=(server, answer), daemon=True).start()
        source = _source(f"rtsp://user:secret@127.0.0.1:{server.getsockname()[1]}/path")
        with pytest.raises(InputError, match=told) as caught:
            source.probe()
    assert "secret" not in str(caught.value)


def _refuse(server: socket.socket, answer: str) -> None:
    """Answer every request of RTSP but OPTIONS like that."""
    try:
        while True:
            visitor, _ = server.accept()
            with visitor, visitor.makefile("rb") as lines:
                method, number = b"", b""
                for line in lines:
                    method = method or line.split(b" ")[0]
                    if line.lower().startswith(b"cseq:"):
                        number = line.strip()
                    if line == b"\r\n":
                        status = "200 OK" if method == b"OPTIONS" else answer
                        head = f'RTSP/1.0 {status}\r\nWWW-Authenticate: Basic realm="x"\r\n'.encode()
                        visitor.sendall(head + number + b"\r\n\r\n")
                        method = b""
    except OSError:
        return  # the test is over


def test_a_port_that_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(DriverError, match=f"port {port} is taken"):
            _source(f"rtmp://127.0.0.1:{port}/live/key?listen=1").probe()


def test_an_address_of_another_machine() -> None:
    with pytest.raises(InputError, match="no address of this machine"):
        _source("rtmp://192.0.2.1:19999/live/key?listen=1").probe()


def test_what_talks_nonsense_is_told_and_the_wait_goes_on() -> None:
    port = free_port()
    source = _source(f"rtmp://127.0.0.1:{port}/live/key?listen=1")
    opened = threading.Thread(target=source.probe)
    opened.start()
    with _reach(port) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(4096))
    with _Persistent(f"rtmp://127.0.0.1:{port}/live/key", "160x120"):
        opened.join()
        assert source.format.size == Size(160, 120)
    source.close()


def test_it_can_be_interrupted_while_it_waits() -> None:
    source = _source(f"rtmp://127.0.0.1:{free_port()}/live/key?listen=1")
    failures: list[Exception] = []

    def probe() -> None:
        try:
            source.probe()
        except InputError as error:
            failures.append(error)

    waiting = threading.Thread(target=probe)
    waiting.start()
    while source._receiver is None:
        pass
    source.interrupt()
    waiting.join()
    assert "closed before its first picture" in str(failures[0])


def test_srt_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DriverError, match="srt-live-transmit"):
        _source("srt://127.0.0.1:9000").probe()


def test_errors_are_of_the_kind_that_is_asked_for() -> None:
    from livefusion.media.network.address import parse_stream
    from livefusion.media.network.trouble import explain

    address = parse_stream("rtsp://user:secret@host/path", OutputError)
    error = explain(address, ConnectionResetError("gone"), OutputError)
    assert isinstance(error, OutputError)
    assert "secret" not in str(error)
