#!/usr/bin/env python3
"""Run LiveFusion's SORT on a MOT Challenge detection file.

Reads ``frame, -1, left, top, width, height, score, …`` lines, writes ``frame, id, left, top, width, height,
1, -1, -1, -1`` lines, one for each confirmed track in each frame.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from livefusion.core.errors import InputError, LiveFusionError, OutputError
from livefusion.faces.track import Sort

Table = npt.NDArray[np.float64]


def read_detections(path: Path) -> Table:
    """(n, 5) table: frame, left, top, right, bottom. ``InputError`` names the first line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}", "give a MOT detection file in text form") from error
    rows = [_parse(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    return np.array(rows, dtype=np.float64).reshape(-1, 5)


def _parse(path: Path, number: int, line: str) -> tuple[float, ...]:
    try:
        frame, _, left, top, width, height = (float(field) for field in line.split(",")[:6])
    except ValueError as error:
        raise InputError(
            f"{path}:{number} is not a MOT detection", "write frame,-1,left,top,width,height,score"
        ) from error
    if not np.isfinite([frame, left, top, width, height]).all() or frame < 1 or frame != int(frame):
        raise InputError(f"{path}:{number} has a number that is no frame or place", "count frames from 1")
    if width <= 0 or height <= 0:
        raise InputError(f"{path}:{number} has an empty box", "give width and height above 0")
    return frame, left, top, left + width, top + height


def follow(detections: Table, sort: Sort) -> Iterator[str]:
    """One MOT line for each confirmed track of each frame, frames without detections included."""
    last = int(detections[:, 0].max()) if len(detections) else 0
    for frame in range(1, last + 1):
        for track in sort.update(detections[detections[:, 0] == frame, 1:]):
            left, top, right, bottom = track.corners
            box = f"{left:.2f},{top:.2f},{right - left:.2f},{bottom - top:.2f}"
            yield f"{frame},{track.id},{box},1,-1,-1,-1\n"


def main(arguments: list[str] | None = None) -> int:
    """Command line; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("detections", metavar="DET", type=Path, help="MOT detection file to read")
    parser.add_argument("tracks", metavar="OUT", type=Path, help="MOT track file to write")
    parser.add_argument("--max-age", type=int, default=1, help="frames a track outlives its last sight (1)")
    parser.add_argument("--min-hits", type=int, default=3, help="sights in a row before a track counts (3)")
    parser.add_argument("--iou", type=float, default=0.3, help="least overlap with the expected box (0.3)")
    options = parser.parse_args(arguments)
    try:
        lines = list(follow(read_detections(options.detections), _sort(options)))
        _write(options.tracks, lines)
    except LiveFusionError as error:
        print(f"sort_mot: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def _sort(options: argparse.Namespace) -> Sort:
    return Sort(max_age=options.max_age, min_hits=options.min_hits, iou_threshold=options.iou)


def _write(path: Path, lines: list[str]) -> None:
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}", "choose another output file") from error


if __name__ == "__main__":
    sys.exit(main())
