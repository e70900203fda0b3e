"""The watermark's figures: how often it is found again, by codec, size and bitrate, and how often falsely.

    python tools/watermark_table.py OUT --videos DIR --photos DIR [--quick]

Each result is a line in OUT/results.jsonl as soon as it is there, and what is there is not measured again:
stop it and go on whenever you like. The table is in OUT/table.md. The whole takes about two hours of one core
for 30 clips of eight seconds, --quick a tenth of that.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from watermark_clips import FPS, HEIGHT, WIDTH, Clip, drawn_clips, filed_clips

from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.ops.cpu.plane import add_plane
from livefusion.provenance.chips import EPOCHS, Grid, presence_signs
from livefusion.provenance.detector import (
    CHUNK_SECONDS,
    WINDOW,
    Alignment,
    ReliefLog,
    payload_scores,
    window_limit,
    window_scores,
)
from livefusion.provenance.watermark import mark_gains, mark_plane
from livefusion.testing.mark import FIXED_MARK

Luma = npt.NDArray[np.uint8]
RATES = (500, 1000, 2000, 4000)
SIZES = {"720p": Size(1280, 720), "480p": Size(854, 480), "360p": Size(640, 360)}
CODECS = ("x264", "vp8")
SECONDS, QUICK_SECONDS = 8, 4
WRONG_KEYS = 100_000
_QUICK_CLIPS = (
    "flat-dark",
    "texture-2",
    "texture-9",
    "screen",
    "performer-250",
    "eat",
    "astronaut",
    "chelsea",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How a clip is encoded; ``kbit`` a second."""

    codec: str
    size: str
    kbit: int

    @property
    def name(self) -> str:
        """Such as ``x264 720p 1000``."""
        return f"{self.codec} {self.size} {self.kbit}"


class Results:
    """What was measured, by clip and what it was; kept in a file line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = {(row["clip"], row["what"]): row for row in map(json.loads, lines)}

    def has(self, clip: str, what: str) -> bool:
        """Whether that was measured."""
        return (clip, what) in self.rows

    def add(self, clip: str, what: str, **figures: Any) -> None:
        """Keep a result."""
        row = {"clip": clip, "what": what, **figures}
        self.rows[clip, what] = row
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(clip, what, figures, flush=True)


def marked(pictures: Iterable[Luma]) -> Iterator[tuple[Luma, Luma, int]]:
    """Each picture, the same with its mark, and the nanoseconds of this core that marking it took."""
    plane, gains = mark_plane(FIXED_MARK, Size(WIDTH, HEIGHT), 0), mark_gains()
    for picture in pictures:
        result = picture.copy()
        start = time.thread_time_ns()
        add_plane(result, plane, gains)
        yield picture, result, time.thread_time_ns() - start


def transcoded(pictures: Iterable[Luma], setting: Setting) -> tuple[list[Luma], float]:
    """The pictures after a codec at a bitrate, and the kbit/s that it made of it."""
    memory, size, rate = io.BytesIO(), SIZES[setting.size], setting.kbit * 1000
    with av.open(memory, "w", format="matroska") as container:
        stream: Any = container.add_stream("libx264" if setting.codec == "x264" else "libvpx", rate=FPS)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = (
            size.width,
            size.height,
            "yuv420p",
            rate,
        )
        stream.options = _options(setting.codec, rate)
        count = 0
        for picture in pictures:
            planes = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
            planes[:HEIGHT] = picture
            frame = av.VideoFrame.from_ndarray(planes, format="yuv420p").reformat(size.width, size.height)
            container.mux(stream.encode(frame))
            count += 1
        container.mux(stream.encode(None))
    kbit = memory.tell() * 8 * FPS / max(1, count) / 1000
    memory.seek(0)
    reader: Any = av.open(memory)
    with reader:
        return [frame.to_ndarray(format="gray") for frame in reader.decode(video=0)], kbit


def _options(codec: str, rate: int) -> dict[str, str]:
    bounds = {"maxrate": str(rate), "bufsize": str(rate // 2), "g": "60"}
    if codec == "x264":
        return bounds | {"preset": "veryfast", "tune": "zerolatency"}
    return bounds | {"minrate": str(rate), "deadline": "realtime", "cpu-used": "8"}


def log_of(pictures: Iterable[Luma], size: Size) -> ReliefLog:
    """What the detector makes of pictures at the cadence."""
    log = ReliefLog(size)
    for number, picture in enumerate(pictures):
        log.add(picture, number / FPS)
    return log


def found(log: ReliefLog) -> dict[str, Any]:
    """The windows' scores on the grid that fits best, what each had to exceed, and the bits read wrong."""
    looks = 2 * len(log.grids)
    scores = np.array([_window_scores(log, grid, mirrored=False) for grid in log.grids])
    right = scores[log.grids.index(Grid.of(Size(WIDTH, HEIGHT)))]
    return {
        "limit": round(window_limit(looks), 2),
        "scores": [round(float(z), 2) for z in right],
        "wrong_bits": _wrong_bits(log),
    }


def _window_scores(log: ReliefLog, grid: Grid, *, mirrored: bool) -> npt.NDArray[np.float64]:
    return window_scores(log.sums(grid, mirrored=mirrored).reshape(log.chunks, -1), grid)


def _wrong_bits(log: ReliefLog) -> list[int]:
    """Bits of 32 read wrong in each window, and last in all of them together."""
    grid = Grid.of(Size(WIDTH, HEIGHT))
    sums = log.sums(grid, mirrored=False).reshape(log.chunks, -1)
    alignment = Alignment(grid, False, 0, 0)
    starts = range(0, len(sums) - WINDOW + 1, WINDOW)
    parts = [(sums[start : start + WINDOW], start) for start in starts] + [(sums, 0)]
    bits = FIXED_MARK.payload.bits
    return [
        int(np.sum((payload_scores(part, alignment, FIXED_MARK.key.secret, start) > 0) != bits))
        for part, start in parts
    ]


def wrong_keys(log: ReliefLog, clip: str, count: int) -> dict[str, float]:
    """Mean, deviation and largest z over so many keys that have nothing to do with a clip."""
    grid = Grid.of(Size(WIDTH, HEIGHT))
    cells = np.flatnonzero(presence_signs(grid, 0))
    x = log.sums(grid, mirrored=False)[:WINDOW].sum(axis=0).reshape(-1)[cells]
    x = (x / np.linalg.norm(x)).astype(np.float32)
    total, squares, largest, batch = 0.0, 0.0, 0.0, 1000
    for number in range(0, count, batch):
        size = -(-len(cells) // 8) * batch
        data = hashlib.shake_256(f"{clip}/{number}".encode()).digest(size)
        bits = np.unpackbits(np.frombuffer(data, np.uint8)).reshape(batch, -1)[:, : len(cells)]
        z = (bits.astype(np.float32) * 2 - 1) @ x
        total, squares, largest = (
            total + float(z.sum()),
            squares + float((z**2).sum()),
            max(largest, float(z.max())),
        )
    mean = total / count
    return {"mean": mean, "sd": float(np.sqrt(squares / count - mean**2)), "max": largest, "keys": count}


def measure(clip: Clip, settings: Iterable[Setting], seconds: int, results: Results) -> None:
    """What is not measured yet of a clip."""
    wanted = [setting for setting in settings if not results.has(clip.name, setting.name)]
    has_rest = results.has(clip.name, "embedding") and results.has(clip.name, "unmarked")
    if not wanted and has_rest:
        return
    before, after, spent = zip(*islice(marked(clip.draw(seconds * FPS)), seconds * FPS), strict=True)
    if not has_rest:
        errors = [
            float(np.mean((a.astype(np.float32) - b) ** 2))
            for a, b in zip(before[::15], after[::15], strict=True)
        ]
        psnr = float(10 * np.log10(255**2 / np.mean(errors)))
        results.add(
            clip.name, "embedding", psnr=round(psnr, 2), p50_ms=round(float(np.median(spent)) / 1e6, 3)
        )
        size = Size(WIDTH, HEIGHT)
        pictures, _ = transcoded(before, Setting("x264", "720p", 2000))
        log = log_of(pictures, size)
        scores = np.concatenate(
            [_window_scores(log, grid, mirrored=m) for grid in log.grids for m in (False, True)]
        )
        chance = wrong_keys(log, clip.name, WRONG_KEYS)
        results.add(
            clip.name, "unmarked", windows=len(scores), largest=round(float(scores.max()), 2), wrong=chance
        )
    for setting in wanted:
        pictures, kbit = transcoded(after, setting)
        results.add(clip.name, setting.name, kbit=round(kbit), **found(log_of(pictures, SIZES[setting.size])))


def table(results: Results) -> str:
    """All results as Markdown."""
    head = (
        "codec, size, kbit/s|clips|windows|found|lowest score|windows with wrong bits|clips with wrong bits"
    )
    lines = [f"| {head.replace('|', ' | ')} |", "|---|---|---|---|---|---|---|"]
    rows = list(results.rows.values())
    promised: list[bool] = []
    for name in (Setting(c, s, r).name for c in CODECS for s in SIZES for r in RATES):
        mine = [row for row in rows if row["what"] == name]
        if not mine:
            continue
        hits = [z > row["limit"] for row in mine for z in row["scores"]]
        if "720p" in name and not name.endswith(" 500"):
            promised += hits
        cells = (
            name,
            len(mine),
            len(hits),
            f"{100 * np.mean(hits):.2f} %",
            f"{min(z for row in mine for z in row['scores']):.1f}",
            np.count_nonzero([n for row in mine for n in row["wrong_bits"][:-1]]),
            np.count_nonzero([row["wrong_bits"][-1] for row in mine]),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if promised:
        share = f"{sum(promised)} of {len(promised)} windows, {100 * np.mean(promised):.2f} %"
        lines += ["", f"Found at 720p and 1 Mbit/s or more: {share} (promised: 99.9 %)."]
    return "\n".join([*lines, "", *_chances(rows)])


def _chances(rows: list[dict[str, Any]]) -> list[str]:
    embedding = [row for row in rows if row["what"] == "embedding"]
    unmarked = [row for row in rows if row["what"] == "unmarked"]
    if not embedding or not unmarked:
        return []
    worst = min(embedding, key=lambda row: row["psnr"])
    middle = np.median([row["psnr"] for row in embedding])
    deviation = max(row["wrong"]["sd"] for row in unmarked)
    limit = window_limit(6)
    tail = norm.sf(limit / deviation) * 6 * EPOCHS * WINDOW
    return [
        f"PSNR of the luma: {worst['psnr']:.1f} dB at least ({worst['clip']}), {middle:.1f} in the middle.",
        f"Marking 720p: {np.median([row['p50_ms'] for row in embedding]):.2f} ms of a core (p50).",
        f"Wrong keys: {sum(row['wrong']['keys'] for row in unmarked)}, z up to "
        f"{max(row['wrong']['max'] for row in unmarked):.2f}, deviation up to {deviation:.4f}: by the fitted "
        f"tail a window with all its looks exceeds {limit:.2f} with probability {tail:.1e}.",
        f"Unmarked, right key: {sum(row['windows'] for row in unmarked)} windows, score up to "
        f"{max(row['largest'] for row in unmarked):.2f}.",
    ]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--videos", "--photos", type=Path, action="append", default=[], dest="folders")
    parser.add_argument("--quick", action="store_true", help="eight clips, two sizes, two bitrates")
    arguments = parser.parse_args()
    CpuDevice()  # one thread for OpenCV
    cv2.setNumThreads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = Results(arguments.out / "results.jsonl")
    clips = [*drawn_clips(), *filed_clips(arguments.folders)]
    settings = [Setting(codec, size, rate) for codec in CODECS for size in SIZES for rate in RATES]
    seconds = SECONDS
    if arguments.quick:
        clips = [clip for clip in clips if clip.name in _QUICK_CLIPS]
        settings = [one for one in settings if one.size != "360p" and one.kbit in {500, 1000}]
        seconds = QUICK_SECONDS
    assert seconds % (WINDOW * CHUNK_SECONDS) == 0
    for clip in clips:
        measure(clip, settings, seconds, results)
        (arguments.out / "table.md").write_text(table(results) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
