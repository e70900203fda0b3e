"""SORT: the reference's answers, and a small world of our own."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.faces.associate import associate, iou_matrix
from livefusion.faces.kalman import BoxFilter, FilterLibrary
from livefusion.faces.track import Sort

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "sort_mot.py"


def shared() -> Path:
    return Path(os.environ.get("LIVEFUSION_SHARED", ROOT.parent / "shared"))


CONFORMANCE = shared() / "conformance" / "sort"
SEQUENCES = sorted(path.name[: -len(".det.txt")] for path in CONFORMANCE.glob("*.det.txt"))
sort_mot = runpy.run_path(str(TOOL))


@pytest.mark.skipif(not SEQUENCES, reason="the conformance sequences are not here")
@pytest.mark.parametrize("name", SEQUENCES or ["none"])
def test_agrees_with_the_reference(name: str, tmp_path: Path) -> None:
    mine = tmp_path / "tracks.txt"
    assert sort_mot["main"]([str(CONFORMANCE / f"{name}.det.txt"), str(mine)]) == 0
    compare = [
        sys.executable,
        str(CONFORMANCE / "compare.py"),
        str(CONFORMANCE / f"{name}.tracks.txt"),
        str(mine),
    ]
    verdict = subprocess.run(compare, capture_output=True, text=True, check=False)
    assert verdict.returncode == 0, verdict.stderr


def walk(start: float, speed: float, frame: int) -> list[float]:
    x = start + speed * frame
    return [x, 50.0, x + 40.0, 100.0]


def test_keeps_numbers_of_two_that_pass_each_other() -> None:
    sort = Sort(max_age=3, min_hits=0)
    for frame in range(60):
        boxes = [walk(0, 5, frame), [*np.add(walk(300, -5, frame), [0, 30, 0, 30])]]
        owners = sort.correct(np.array(boxes)) if frame == 0 else None
        if owners is None:
            sort.predict()
            owners = sort.correct(np.array(boxes))
        assert [owner.id for owner in owners] == [1, 2]


def test_outlives_a_gap_of_max_age_and_no_more() -> None:
    for gap, alive in ((3, True), (4, False)):
        sort = Sort(max_age=3, min_hits=0)
        for frame in range(10):
            sort.update(np.array([walk(0, 2, frame)]))
        for _ in range(gap):
            assert sort.update(np.empty((0, 4))) == []
        assert (len(sort.tracks) == 1) is alive


def test_reports_a_track_only_after_min_hits() -> None:
    sort = Sort(max_age=1, min_hits=3)
    for _ in range(5):
        sort.update(np.empty((0, 4)))
    seen = [len(sort.update(np.array([walk(0, 2, frame)]))) for frame in range(6)]
    assert seen == [0, 0, 0, 1, 1, 1]


def test_filter_learns_the_speed() -> None:
    box = BoxFilter(np.array(walk(0, 3, 0)))
    for frame in range(1, 20):
        box.predict()
        box.update(np.array(walk(0, 3, frame)))
    assert box.velocity[0] == pytest.approx(3, abs=0.1)
    box.predict()
    assert box.corners == pytest.approx(walk(0, 3, 20), abs=0.5)


class SlowLibrary(FilterLibrary):
    """A library whose import ends when the test says so."""

    arrived = False

    def filter_type(self) -> Any | None:
        return super().filter_type() if self.arrived else None


@pytest.mark.parametrize("arrives_after", [0, 1, 7])
def test_filter_that_arrives_late_is_as_if_it_had_always_been_there(arrives_after: int) -> None:
    library, born_at = SlowLibrary(), np.array(walk(0, 3, 0))
    late, always = BoxFilter(born_at, library), BoxFilter(born_at)
    for frame in range(1, 10):
        library.arrived = frame > arrives_after
        for box in (late, always):
            box.predict()
        if not library.arrived:
            assert late.corners == pytest.approx(walk(0, 3, frame - 1))
            assert late.velocity == (0, 0)
        seen = frame % 4 or not library.arrived
        for box in (late, always):
            if seen:
                box.update(np.array(walk(0, 3, frame)))
    assert late.corners == pytest.approx(always.corners)
    assert late.velocity == pytest.approx(always.velocity)


def test_shrinking_area_does_not_become_negative() -> None:
    box = BoxFilter(np.array([0.0, 0.0, 100.0, 100.0]))
    for side in (60.0, 20.0, 4.0):
        box.predict()
        box.update(np.array([0.0, 0.0, side, side]))
    for _ in range(10):
        box.predict()
    assert np.isfinite(box.corners).all()


def test_association_takes_the_best_sum_not_the_greedy_pair() -> None:
    expected = np.array([[0, 0, 10, 10], [4, 0, 14, 10.0]])
    seen = np.array([[3, 0, 13, 10], [6.5, 0, 16.5, 10.0]])
    assert associate(seen, expected, 0.2).pairs == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [([0, 0, 2, 2], [0, 0, 2, 2], 1), ([0, 0, 2, 2], [1, 0, 3, 2], 1 / 3), ([0, 0, 1, 1], [2, 2, 3, 3], 0),
     ([0, 0, 0, 0], [0, 0, 0, 0], 0)],
)  # fmt: skip
def test_iou(first: list[float], second: list[float], overlap: float) -> None:
    assert iou_matrix(np.array([first], float), np.array([second], float)) == pytest.approx(overlap)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,-1,5,5,10\n", "det.txt:1 is not a MOT detection"),
        ("1,-1,5,5,10,10,1\nx,-1,5,5,10,10,1\n", "det.txt:2 is not a MOT detection"),
        ("1,-1,5,5,0,10,1\n", "empty box"),
        ("0,-1,5,5,10,10,1\n", "no frame or place"),
        ("1,-1,nan,5,10,10,1\n", "no frame or place"),
    ],
)
def test_tool_names_what_is_wrong(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    detections = tmp_path / "det.txt"
    detections.write_text(text)
    assert sort_mot["main"]([str(detections), str(tmp_path / "out.txt")]) == 2
    assert complaint in capsys.readouterr().err


def test_tool_refuses_missing_and_unwritable_files(tmp_path: Path) -> None:
    good = tmp_path / "det.txt"
    good.write_text("1,-1,5,5,10,10,1\n")
    assert sort_mot["main"]([str(tmp_path / "none.txt"), str(tmp_path / "out.txt")]) == 2
    assert sort_mot["main"]([str(good), str(tmp_path / "no" / "out.txt")]) == 2
    assert sort_mot["main"]([str(good), str(tmp_path / "out.txt")]) == 0
    assert (tmp_path / "out.txt").read_text() == "1,1,5.00,5.00,10.00,10.00,1,-1,-1,-1\n"
