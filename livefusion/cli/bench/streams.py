"""What RTMP, MPEG-TS and RTSP add between our output and our input, by a number in the picture.

Measured from a picture's way into the output to its decoded self at the input: our encoder, muxer, the
network or nginx, demuxer and decoder are in it. Of RTSP a small server takes the place of the output.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.color import ColorInfo
from livefusion.core.errors import InputError, LiveFusionError, MachineError, OutputError
from livefusion.core.events import Discontinuity, Eos
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.network.address import parse_stream
from livefusion.media.network.sink import StreamSink
from livefusion.media.network.source import StreamSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.nginx import find_nginx, nginx_rtmp
from livefusion.testing.rtsp_server import RtspServer
from livefusion.testing.webrtc import BITS, burn_number, numbered_picture, read_number

SCENARIO = "streams"
SIZE, FPS = Size(640, 360), 30
_BASE = Fraction(1, FPS)
_CONTEXT = StageContext("bench", SystemClock())
_OUTPUT = OutputFormat(SIZE, Fraction(FPS), ColorInfo(), _BASE)
_PATIENCE = 30.0
_SETTLE = 30
"""Pictures at the beginning that do not count: players, too, begin with what a server had kept."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way from an output to an input; ``listen`` is what the input's address has beside the output's.

    ``tells`` is True where the input is told that the publisher is gone; else silence has to be judged.
    """

    name: str
    url: str
    listen: str = ""
    tells: bool = True


def measure(options: BenchOptions) -> list[Figure]:
    """Each way in turn; that through nginx only where its RTMP module is installed."""
    figures: list[Figure] = []
    with ExitStack() as stack:
        ways = [Way("RTMP, we listen", f"rtmp://127.0.0.1:{_port()}/live/a", "?listen=1")]
        if find_nginx() is None:
            options.note("streams: nginx with its RTMP module is not installed and is left out")
        else:
            for name, tells in (("nginx", False), ("nginx with publish_notify", True)):
                folder = options.folder / f"nginx-{tells:d}"
                folder.mkdir(exist_ok=True)
                url = stack.enter_context(nginx_rtmp(folder, tells=tells))
                ways.append(Way(f"RTMP through {name}", f"{url}/a", tells=tells))
        ways.append(Way("MPEG-TS by UDP", f"udp://127.0.0.1:{_port(socket.SOCK_DGRAM)}", tells=False))
        ways.append(Way("RTSP", f"rtsp://127.0.0.1:{_port()}/live"))
        for way in ways:
            options.note(f"streams: {way.name} for {options.seconds:g} s")
            figures += _measure_way(way, options.seconds)
    return figures


def _measure_way(way: Way, seconds: float) -> list[Figure]:
    name, url = way.name, way.url
    publisher = _publisher(url)
    source = StreamSource(parse_stream(url + way.listen, InputError), url, CpuDevice())
    publisher.start()
    try:
        _open(source)
        late = _watch(source, publisher, seconds)
        killed_ns = time.monotonic_ns()
        publisher.stop()
        gone_ns = _until(source, lambda entry: isinstance(entry, Discontinuity))
        again = _publisher(url)
        again.start()
        back_ns = _until(source, lambda entry: isinstance(entry, Frame) and _number_in(entry) is not None)
        again_ns = again.started_ns
        again.stop()
    finally:
        publisher.stop()
        source.close()
    milliseconds = np.array(late[_SETTLE:] or late) / 1e6
    if not milliseconds.size:
        raise MachineError(f"no picture came by {name}", "close other programs and measure again")
    rows = [
        ("added p50", float(np.percentile(milliseconds, 50)), "ms", "≤ 45"),
        ("added p95", float(np.percentile(milliseconds, 95)), "ms", ""),
        ("pictures", len(late) / seconds, "fps", ""),
        ("publisher gone to card", (gone_ns - killed_ns) / 1e6, "ms", "≤ 33" if way.tells else ""),
        ("publisher back to picture", (back_ns - again_ns) / 1e9, "s", "≤ 2"),
    ]
    return [Figure(SCENARIO, f"{name}: {row[0]}", *row[1:]) for row in rows]


class Sending(Protocol):
    """Whoever sends numbered pictures: ``sent_ns`` is when each number came into being."""

    sent_ns: dict[int, int]
    started_ns: int

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self) -> None:
        """Hang up; nothing if it did."""
        ...


def _publisher(url: str) -> Sending:
    return RtspSender(url) if url.startswith("rtsp:") else Publisher(url)


def _texture() -> Any:
    return np.random.default_rng(1).integers(60, 180, (SIZE.height, SIZE.width), np.uint8)


class RtspSender:
    """A server of numbered pictures, 30 a second, until it is stopped."""

    def __init__(self, url: str) -> None:
        self.sent_ns: dict[int, int] = {}
        """When each number went into the encoder."""
        self.started_ns = 0
        """When it could be called first."""
        self._port = urlsplit(url).port or 0
        self._texture = _texture()
        self._server: RtspServer | None = None

    def start(self) -> None:
        """Listen."""
        self._server = RtspServer(SIZE, port=self._port, fps=FPS, draw=self._draw)
        self._server.__enter__()
        self.started_ns = time.monotonic_ns()

    def stop(self) -> None:
        """Hang up; nothing if it did."""
        server, self._server = self._server, None
        if server is not None:
            server.__exit__()

    def _draw(self, size: Size, number: int) -> Any:
        picture = numbered_picture(size, number, np.roll(self._texture, number // 4, axis=1))
        self.sent_ns[number] = time.monotonic_ns()
        return picture


class Publisher:
    """Sends numbered pictures by our own output, 30 a second, until it is stopped; calls again if need be."""

    def __init__(self, url: str) -> None:
        self.sent_ns: dict[int, int] = {}
        """When each number went into the output."""
        self.started_ns = 0
        """When its connection was up first."""
        self._url = url
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Begin, as soon as somebody answers."""
        self._thread.start()

    def stop(self) -> None:
        """Hang up; nothing if it did."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=_PATIENCE)

    def _run(self) -> None:
        device = CpuDevice()
        while not self._stopped.is_set():
            sink = StreamSink(
                parse_stream(self._url, OutputError), self._url, EncoderShare(8_000_000), device, _OUTPUT
            )
            try:
                sink.open(_CONTEXT)
                self.started_ns = self.started_ns or time.monotonic_ns()
                self._send(sink, device)
            except LiveFusionError:
                self._stopped.wait(timeout=0.1)
            finally:
                sink.close()

    def _send(self, sink: StreamSink, device: CpuDevice) -> None:
        pool, stream = FramePool(device, SIZE, limit=4), device.stream("draw")
        texture = _texture()
        began, number = time.monotonic(), 0
        while not self._stopped.wait(timeout=max(0.0, began + number / FPS - time.monotonic())):
            buffer = pool.acquire(stream)
            luma: Any = buffer.luma
            np.copyto(luma, np.roll(texture, number // 4, axis=1))
            buffer.chroma[:] = 128
            burn_number(luma, number % (1 << BITS))
            self.sent_ns[number] = time.monotonic_ns()
            frame = Frame(
                number, "bench", Timestamp(number, _BASE), self.sent_ns[number], SIZE, ColorInfo(), buffer
            )
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
            number += 1


def _open(source: StreamSource) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            source.open(_CONTEXT)
        except InputError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _watch(source: StreamSource, publisher: Sending, seconds: float) -> list[int]:
    """How many nanoseconds each picture took."""
    late: list[int] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        entry = source.read()
        now_ns = time.monotonic_ns()
        if isinstance(entry, Frame) and (sent := publisher.sent_ns.get(_number_in(entry) or -1)) is not None:
            late.append(now_ns - sent)
    return late


def _number_in(frame: Frame) -> int | None:
    """The number in a picture; None for a card, which has none."""
    luma: Any = frame.buffer.luma
    bars = luma[-luma.shape[0] // 16 :].astype(int)
    return read_number(luma) if np.ptp(bars) > 100 else None


def _until(source: StreamSource, wanted: Callable[[Any], bool]) -> int:
    """When the source gave what is wanted, monotonic."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        entry = source.read()
        if wanted(entry):
            return time.monotonic_ns()
        if isinstance(entry, Eos):
            break
    raise MachineError("the stream did not come back", "close other programs and measure again")


def _port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
