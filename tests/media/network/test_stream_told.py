"""Servers that tell that their publisher is gone are believed at once."""

from contextlib import suppress
from pathlib import Path

import pytest
from stream_tools import publishing

from livefusion.core.errors import InputError
from livefusion.core.events import Discontinuity
from livefusion.core.frame import Frame
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.cpu import CpuDevice
from livefusion.media.network import patience
from livefusion.media.network.address import parse_stream
from livefusion.media.network.source import StreamSource
from livefusion.testing.nginx import find_nginx, nginx_rtmp

pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif(find_nginx() is None, reason="nginx has no RTMP module (Debian: libnginx-mod-rtmp)"),
]


def test_nginx_tells_with_publish_notify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "SHORTEST_NS", 3600 * NANOSECONDS)  # silence alone says nothing
    monkeypatch.setattr(patience, "LONGEST_NS", 3600 * NANOSECONDS)
    with nginx_rtmp(tmp_path, tells=True) as place, publishing("-f", "flv", f"{place}/key") as publisher:
        source = StreamSource(parse_stream(f"{place}/key", InputError), "rtmp", CpuDevice())
        try:
            for _ in range(5):  # the publisher may need a moment
                with suppress(InputError):
                    source.probe()
                    break
            assert isinstance(source.read(), Frame)
            publisher.kill()
            entries = (source.read() for _ in range(500))
            told = next(one for one in entries if not isinstance(one, Frame))
        finally:
            source.close()
    assert isinstance(told, Discontinuity)
    assert "lost" in told.reason
