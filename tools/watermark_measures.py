"""What one clip shows of the watermark: its windows' scores after a codec, payload, noise, wrong keys."""

from __future__ import annotations

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
import numpy as np
import numpy.typing as npt
from watermark_clips import FPS, HEIGHT, WIDTH, Clip

from livefusion.core.geometry import Size
from livefusion.media.inspect import luma_of
from livefusion.ops.cpu.plane import add_plane
from livefusion.provenance.chips import Grid, presence_signs
from livefusion.provenance.detector import (
    WINDOW,
    Alignment,
    ReliefLog,
    payload_scores,
    window_limit,
    window_scores,
)
from livefusion.provenance.reading import likeliest
from livefusion.provenance.watermark import mark_gains, mark_plane
from livefusion.testing.mark import FIXED_MARK

Luma = npt.NDArray[np.uint8]
SIZES = {"720p": Size(1280, 720), "480p": Size(854, 480), "360p": Size(640, 360)}
WRONG_KEYS = 100_000


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
        return [luma_of(frame) for frame in reader.decode(video=0)], kbit


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
    """The windows' scores on the grid of 720p, what each had to exceed, and how the payload was read."""
    looks = 2 * len(log.grids)
    scores = np.array([_window_scores(log, grid, mirrored=False) for grid in log.grids])
    right = scores[log.grids.index(Grid.of(Size(WIDTH, HEIGHT)))]
    return {
        "limit": round(window_limit(looks), 2),
        "scores": [round(float(z), 2) for z in right],
        "read": _readings(log),
    }


def _window_scores(log: ReliefLog, grid: Grid, *, mirrored: bool) -> npt.NDArray[np.float64]:
    return window_scores(log.sums(grid, mirrored=mirrored).reshape(log.chunks, -1), grid)


def _readings(log: ReliefLog) -> list[bool | None]:
    """Whether the payload of each window was read right, last that of all together; None if none was read."""
    grid = Grid.of(Size(WIDTH, HEIGHT))
    sums = log.sums(grid, mirrored=False).reshape(log.chunks, -1)
    alignment = Alignment(grid, False, 0, 0)
    starts = range(0, len(sums) - WINDOW + 1, WINDOW)
    parts = [(sums[start : start + WINDOW], start) for start in starts] + [(sums, 0)]
    payload = FIXED_MARK.payload
    found = [
        likeliest(payload_scores(part, alignment, FIXED_MARK.key.secret, start), payload.key_id)
        for part, start in parts
    ]
    return [None if one is None else one == payload for one in found]


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
