"""What the bench of several outputs makes of what it saw."""

import socket
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from livefusion.cli.bench.outputs import Arrivals, Hang, Watched, _behind, _hangs, _meanwhile, _of_output
from livefusion.core.geometry import Size
from livefusion.testing.beacon import write_beacon
from livefusion.testing.loopback import LoopbackWrite, read_log
from livefusion.testing.publisher import publish
from livefusion.testing.rtmp_server import RtmpServer, Visits, tail_of

pytestmark = pytest.mark.net

SECOND = 1_000_000_000


def arrivals(name: str, *spans: tuple[float, float]) -> Arrivals:
    """30 pictures a second in each span of seconds."""
    return Arrivals(name, [start + i / 30 for start, end in spans for i in range(round(30 * (end - start)))])


def test_what_stopped_together_with_the_one_that_hung_is_told() -> None:
    hang = Hang("RTMP", (10.0, 20.0))
    outputs = [
        arrivals("RTMP", (0, 10), (21, 30)),
        arrivals("file", (0, 30)),
        arrivals("vcam", (0, 10), (15, 30)),
    ]
    rows = {name: (value, bar) for name, value, _, bar in _meanwhile(hang, outputs, 0.0)}
    assert rows["while RTMP hangs: file, pictures, of those before"] == (pytest.approx(100), "≥ 90")
    assert rows["while RTMP hangs: vcam, pictures, of those before"][0] == pytest.approx(50)
    assert rows["while RTMP hangs: vcam, longest gap"][0] == pytest.approx(5000, abs=40)
    assert not any("RTMP hangs: RTMP" in name for name in rows)


def test_pictures_that_are_equal_to_the_byte_tell_no_time() -> None:
    watched = Watched()
    watched.pictures = [(1, b"first"), (2, b"repeat"), (3, b"second"), (20, b"repeat")]
    assert watched.times_ns == {b"first": 1, b"second": 3}


def test_its_own_hang_is_no_loss_of_an_output() -> None:
    told = {
        "latency_ms": {"residence": {"p95": 9.0}, "written": {"p95": 12.0}},
        "reconnects": 1,
        "errors": ["gone"],
        "raw": 0,
    }
    hang = Hang("RTMP", (10.0, 20.0))
    output = arrivals("RTMP", (0, 10), (27, 40))
    rows = {name: value for name, value, _, _ in _of_output(output, told, [hang], (0.0, 40.0))}
    assert rows["RTMP: pictures, but for its own hang"] == pytest.approx(30, abs=0.1)
    assert (rows["RTMP: opened again"], rows["RTMP: errors told"], rows["RTMP: raw faces"]) == (1, 1, 0)


def test_both_hangs_are_found() -> None:
    visits = Visits(hung_ns=(5 * SECOND, 9 * SECOND))
    camera = [LoopbackWrite(one * SECOND, taken) for one, taken in ((1, 99), (2, 0), (7, 99), (8, 99))]
    assert _hangs(visits, camera) == [Hang("RTMP", (5.0, 9.0)), Hang("virtual camera", (2.0, 7.0))]
    assert _hangs(Visits(), []) == []


def test_how_far_one_is_behind_is_seen_by_the_same_picture() -> None:
    watched = Watched()
    watched.pictures = [(second * SECOND, bytes([second])) for second in range(40)]
    late = {second: 20_000_000 if second < 10 else 30_000_000 for second in range(40)}
    visits = Visits([(second * SECOND + late[second], bytes([second])) for second in range(40)])
    visits.hung_ns = 10 * SECOND, 15 * SECOND
    rows = _behind(watched, visits)
    assert [(value, bar) for _, value, _, bar in rows] == [(20.0, ""), (30.0, "≤ 100")]


def test_the_log_of_a_camera_that_never_came_is_empty(tmp_path: Path) -> None:
    assert read_log(tmp_path / "none") == []
    (tmp_path / "log").write_text("5 10\n6 -1\n7 0\n")
    assert [one.taken for one in read_log(tmp_path / "log")] == [10, -1, 0]


def test_a_picture_is_known_by_its_end() -> None:
    assert tail_of(b"\0\0\0\1" + bytes(range(64))) == tail_of(b"\0\0\0\x44" + bytes(range(64)))


def test_the_server_notes_pictures_and_stops_taking_them_for_a_while(tmp_path: Path) -> None:
    clip = write_beacon(tmp_path / "clip.mp4", Size(96, 64), 20, 6)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        url = f"rtmp://127.0.0.1:{one.getsockname()[1]}/live/key"
    done = threading.Event()
    with RtmpServer(url, hang_after=0.5, hang_seconds=1.0) as server:
        sender = threading.Thread(target=publish, args=(clip, url, done))
        sender.start()
        deadline = time.monotonic() + 60
        while len(server.visits.arrivals) < 40 and time.monotonic() < deadline:
            time.sleep(0.05)
        done.set()
        sender.join(timeout=30)
    times = [at for at, _ in server.visits.arrivals]
    assert len(times) >= 40
    assert server.visits.hung_ns is not None
    began, ended = server.visits.hung_ns
    assert ended - began >= SECOND
    assert not [at for at in times if began < at < ended]
    assert max(later - earlier for earlier, later in pairwise(times)) >= SECOND
    assert server.visits.connections == 1
