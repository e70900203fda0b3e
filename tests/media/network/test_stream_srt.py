import socket
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from stream_tools import free_port, program

from livefusion.core.errors import OutputError
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.network.address import parse_stream
from livefusion.media.network.sink import StreamSink
from livefusion.media.network.source import StreamSource
from livefusion.media.sources.file import FileSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.beacon import write_beacon

pytestmark = pytest.mark.net
CONTEXT = StageContext("edge", SystemClock())


def test_srt_there_and_back(tmp_path: Path) -> None:
    program("srt-live-transmit", "srt-tools")
    clip = FileSource(write_beacon(tmp_path / "clip.mp4", Size(96, 64), 20, 1), CpuDevice())
    clip.open(CONTEXT)
    output = replace(OutputFormat.of(clip.format), audio=None)
    frame = clip.read()
    assert isinstance(frame, Frame)
    clip.close()
    url = f"srt://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    share = EncoderShare(8_000_000)
    listener = parse_stream(f"{url}?mode=listener&latency=20", OutputError)
    sink = StreamSink(listener, "output", share, CpuDevice(), output)
    sink.open(CONTEXT)
    received = StreamSource(parse_stream(f"{url}?latency=20", OutputError), "input", CpuDevice())
    opened = threading.Thread(target=received.open, args=(CONTEXT,))
    opened.start()
    sent = 0
    while opened.is_alive():
        ts = frame.ts + Fraction(sent, 20)
        sink.write(RenderedFrame(replace(frame, ts=ts, seq=sent), Outcome.CLEAR))
        opened.join(1 / 20)
        sent += 1
    assert received.format.size == Size(96, 64)
    received.close()
    sink.close()
