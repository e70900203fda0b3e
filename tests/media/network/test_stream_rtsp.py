"""RTSP from a server that answers, goes, and is there again; by TLS, too."""

from itertools import pairwise
from pathlib import Path

import pytest
from stream_tools import read_frames

from livefusion.core.errors import InputError
from livefusion.core.events import Discontinuity, Event
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.network.address import parse_stream
from livefusion.media.network.source import StreamSource
from livefusion.media.network.trust import trusting
from livefusion.runtime.stage import StageContext
from livefusion.testing.rtsp_server import RtspServer
from livefusion.testing.tls_proxy import tls_proxy, write_certificate

pytestmark = pytest.mark.net

CONTEXT = StageContext("decode", SystemClock())
SIZE = Size(160, 96)


def test_a_server_that_hangs_up_is_called_again() -> None:
    with RtspServer(SIZE) as server:
        address = parse_stream(f"rtsp://user:secret@127.0.0.1:{server.port}/stream", InputError)
        source = StreamSource(address, "input", CpuDevice())
        source.open(CONTEXT)
        first = read_frames(source, 4)
        server.hang_up()
        lost: list[Frame | Event] = []
        while not any(isinstance(one, Discontinuity) for one in lost):
            lost.append(source.read())
        again = read_frames(source, 4)
        source.close()
    assert (source.format.size, source.format.has_audio) == (SIZE, False)
    frames = [one for one in (*first, *lost, *again) if isinstance(one, Frame)]
    assert all(later.ts.pts > one.ts.pts for one, later in pairwise(frames))
    assert (server.visits, source.losses) == (2, 1)


def test_a_server_is_known_by_its_certificate(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path, "127.0.0.1")
    with RtspServer(SIZE) as server, tls_proxy(certificate, server.port) as door:
        address = parse_stream(f"rtsps://127.0.0.1:{door}/secret", InputError)
        source = StreamSource(trusting(address, certificate), "input", CpuDevice())
        source.open(CONTEXT)
        assert len(read_frames(source, 3)) >= 3
        source.close()
        with pytest.raises(InputError, match=r"the certificate .* is refused") as caught:
            StreamSource(address, "input", CpuDevice()).probe()
    assert server.visits == 1
    assert "secret" not in str(caught.value)
