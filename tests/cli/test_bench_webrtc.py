"""What ``livefusion bench webrtc`` makes of what a browser saw."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.cli.bench.cores import CoreUse
from livefusion.cli.bench.main import DEFAULT, SCENARIOS
from livefusion.cli.bench.webrtc import Case, Watched, figures_of, write_camera
from livefusion.core.errors import MachineError
from livefusion.core.geometry import Size
from livefusion.testing.passage import Passage
from livefusion.testing.webrtc import read_number

pytestmark = pytest.mark.unit

CASE = Case(Size(640, 360), 0, "≤ 20", "≤ 30")
REPORT = {"frames": {"raw": 0}}
CORES = CoreUse(0.5, 0.75, 0.25)
SEEN = {
    "times": [10.0] * 90 + [28.0] * 10,
    "sizes": {"640x360": 100},
    "fps": 29.9,
    "sent": 30.0,
    "gap": 60.0,
    "backwards": 0,
    "unclear": 0,
}


def test_it_is_run_only_when_named() -> None:
    assert "webrtc" in SCENARIOS
    assert "webrtc" not in DEFAULT


@pytest.mark.parametrize(
    ("change", "missed"),
    [
        ({}, []),
        ({"times": [35.0] * 100}, ["round trip p50", "round trip p95"]),
        ({"fps": 20.0}, ["pictures back"]),
        ({"sizes": {"640x360": 99, "480x270": 1}}, ["of another size"]),
        ({"backwards": 1}, ["out of order"]),
    ],
)
def test_each_bar_can_be_missed(change: dict[str, object], missed: list[str]) -> None:
    figures = figures_of(CASE, Watched({**SEEN, **change}, CORES), REPORT, Watched(SEEN, CORES))
    assert [figure.name.split(": ")[1] for figure in figures if figure.passed is False] == missed


def test_what_the_browser_takes_alone_is_told_apart() -> None:
    alone_seen = Watched({**SEEN, "times": [7.0] * 10}, CORES)
    figures = figures_of(CASE, Watched(SEEN, CORES), REPORT, alone_seen)
    alone = {figure.name.split(": ")[1]: figure.value for figure in figures if "alone" in figure.name}
    assert alone == {"the browser alone p50": 7.0, "the browser alone p95": 7.0}


@pytest.mark.parametrize(("seen", "alone"), [([], [1.0]), ([1.0], [])])
def test_nothing_is_no_figure(seen: list[float], alone: list[float]) -> None:
    watched, echoed = (Watched({**SEEN, "times": times}, CORES) for times in (seen, alone))
    with pytest.raises(MachineError, match="no picture"):
        figures_of(CASE, watched, REPORT, echoed)


def test_each_step_and_what_the_server_adds_is_told() -> None:
    ms = 1_000_000
    passage = Passage(0, 10 * ms, 11 * ms, 14 * ms, 24 * ms, 30 * ms, 32 * ms)
    watched = Watched(SEEN, CORES, passages=((passage, 8.0, 5.0),) * 3)
    rows = figures_of(CASE, watched, REPORT, Watched(SEEN, CORES))
    told = {row.name.split(": ")[1]: row.value for row in rows}
    steps = {"browser encodes": 8, "packets come": 1, "decoder": 3, "graph": 10, "encoder": 6}
    steps |= {"packets go": 2, "browser decodes": 5, "added by the server": 22}
    for name, value in steps.items():
        assert (told[f"{name} p50"], told[f"{name} p95"]) == (value, value)
    busy = [told[f"cores busy with {who}"] for who in ("LiveFusion", "the browser", "others")]
    assert busy == [0.5, 0.75, 0.25]


@pytest.mark.parametrize("face", [0, 60])
def test_a_cameras_file_has_numbered_pictures(tmp_path: Path, face: int) -> None:
    path, size = tmp_path / "camera.y4m", Size(160, 96)
    write_camera(path, size, face, pictures=3)
    head, *pictures = path.read_bytes().split(b"FRAME\n")
    assert head.startswith(b"YUV4MPEG2 W160 H96 F30:1")
    for number, picture in enumerate(pictures):
        assert len(picture) == size.width * size.height * 3 // 2
        luma = np.frombuffer(picture, np.uint8)[: size.width * size.height].reshape(size.height, size.width)
        assert read_number(luma) == number
