"""RTMP by TLS in both directions, with a certificate that is known and with others."""

from fractions import Fraction
from pathlib import Path

import pytest
from stream_tools import free_port, nginx, publishing, read_frames

from livefusion.core.color import ColorInfo
from livefusion.core.errors import InputError, OutputError
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.network.address import StreamAddress, parse_stream
from livefusion.media.network.sink import StreamSink
from livefusion.media.network.source import StreamSource
from livefusion.media.network.trust import trusting
from livefusion.media.sources.file import FileSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.beacon import write_beacon
from livefusion.testing.rtmp_server import RtmpServer
from livefusion.testing.tls_proxy import tls_proxy, write_certificate

pytestmark = pytest.mark.net

CONTEXT = StageContext("stream", SystemClock())


def test_a_stream_is_read(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path, "127.0.0.1")
    with nginx(tmp_path) as place, publishing("-f", "flv", f"{place}/key"):
        port = int(place.split(":")[2].partition("/")[0])
        with tls_proxy(certificate, port) as door:
            address = parse_stream(f"rtmps://127.0.0.1:{door}/live/key", InputError)
            source = _opened(trusting(address, certificate))
            frames = read_frames(source, 3)
            source.close()
            with pytest.raises(InputError, match=r"is refused \(self-signed certificate") as caught:
                StreamSource(address, "input", CpuDevice()).probe()
    assert len(frames) >= 3
    assert "--stream-ca" in caught.value.remedy
    assert "key" not in str(caught.value)


def _opened(address: StreamAddress) -> StreamSource:
    for _ in range(5):  # the publisher may need a moment
        source = StreamSource(address, "input", CpuDevice())
        try:
            source.open(CONTEXT)
        except InputError:
            source.close()
        else:
            return source
    raise AssertionError("the stream cannot be read")


def test_a_stream_is_sent(tmp_path: Path) -> None:
    certificate, port = write_certificate(tmp_path, "127.0.0.1"), free_port()
    source = FileSource(write_beacon(tmp_path / "clip.mp4", Size(96, 64), 20, 3), CpuDevice())
    source.open(CONTEXT)
    with RtmpServer(f"rtmp://127.0.0.1:{port}/live/key") as server, tls_proxy(certificate, port) as door:
        output = OutputFormat.of(source.format, source.audio)
        sink = StreamSink(_address(door, certificate), "output", EncoderShare(8_000_000), CpuDevice(), output)
        sink.open(CONTEXT)
        while isinstance(entry := source.read(), Frame):
            sink.write(RenderedFrame(entry, Outcome.CLEAR))
        sink.close()
        source.close()
    assert server.visits.arrivals


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "self-signed certificate"),
        ("elsewhere.example", "IP address mismatch"),
        ("no certificate", "no.pem holds no certificates"),
        ("no file", "absent.pem holds no certificates"),
    ],
)
def test_a_server_that_is_not_known_gets_nothing(tmp_path: Path, name: str, told: str) -> None:
    known = write_certificate(tmp_path, "127.0.0.1")
    (tmp_path / "no.pem").write_text("nothing", encoding="ascii")
    shown, named = {
        "": (known, None),
        "elsewhere.example": (write_certificate(tmp_path, "elsewhere.example"),) * 2,
        "no certificate": (known, tmp_path / "no.pem"),
        "no file": (known, tmp_path / "absent.pem"),
    }[name]
    output = OutputFormat(Size(96, 64), Fraction(30), ColorInfo(), Fraction(1, 30))
    with tls_proxy(shown, free_port()) as door:
        sink = StreamSink(_address(door, named), "output", EncoderShare(8_000_000), CpuDevice(), output)
        with pytest.raises(OutputError, match=f"(?i){told}") as caught:
            sink.open(CONTEXT)
    assert "--stream-ca" in caught.value.remedy
    assert "key" not in caught.value.problem


def _address(port: int, authorities: Path | None) -> StreamAddress:
    return trusting(parse_stream(f"rtmps://127.0.0.1:{port}/live/key", OutputError), authorities)
