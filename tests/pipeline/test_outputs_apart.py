"""Outputs beside each other in one graph: what befalls one of them is not seen in another."""

import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from livefusion.core.geometry import Size
from livefusion.core.settings import Settings
from livefusion.pipeline.assemble import Pipeline
from livefusion.testing.performer_clip import render_clip

pytestmark = pytest.mark.media

FRAMES = 90


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "performer.mp4"
    render_clip(path, Size(320, 240), Fraction(30), 100, FRAMES / 30)
    return path


@pytest.fixture
def datagrams() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        one.bind(("127.0.0.1", 0))
        yield one


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for the first part of a recording only, where one may be made."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or not mount("-t", "tmpfs", "-o", "size=96k", "tmpfs", str(folder)):
        pytest.skip("file systems may not be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=False)


def mount(*arguments: str) -> bool:
    try:
        return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def run(settings: Settings) -> dict[str, Any]:
    pipeline = Pipeline(settings)
    try:
        pipeline.start()
        pipeline.wait(60)
    finally:
        pipeline.stop()
    return pipeline.report()


def check_full(report: dict[str, Any], told: str) -> None:
    recording, live = report["outputs"]
    assert len(recording["errors"]) == 1
    assert "cannot be written (No space left on device)" in recording["errors"][0]
    assert "cannot be written (No space left on device): free some space" in told
    assert live["errors"] == []
    # How many of the clip's pictures a loaded machine drops is not the matter here.
    assert live["frames"] >= recording["frames"] + 10, "it goes on"
    assert live["reconnects"] == 0
    assert (report["encoders"], report["frames"]["raw"]) == (1, 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_was_full_all_along_leaves_live_outputs_alone(
    clip: Path, tmp_path: Path, datagrams: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "out.mp4").symlink_to("/dev/full")
    port = datagrams.getsockname()[1]
    with caplog.at_level(logging.ERROR):
        report = run(Settings(input=str(clip), output=(str(tmp_path / "out.mp4"), f"udp://127.0.0.1:{port}")))
    check_full(report, caplog.text)


def test_a_disk_that_fills_keeps_what_was_recorded_and_live_goes_on(
    clip: Path, full_disk: Path, datagrams: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    recording, port = full_disk / "out.mkv", datagrams.getsockname()[1]
    with caplog.at_level(logging.ERROR):
        report = run(Settings(input=str(clip), output=(str(recording), f"udp://127.0.0.1:{port}")))
        check_full(report, caplog.text)
    kept = 0
    with av.open(str(recording)) as container:
        try:
            for _ in container.decode(video=0):
                kept += 1
        except av.error.FFmpegError:  # where the disk was full, in the middle of a picture
            pass
    assert recording.stat().st_size > 50_000
    assert kept >= 5
