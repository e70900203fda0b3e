"""Processor time of everything that says that a picture was altered: badge, watermark, notice."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.frame import Frame
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.media.encode.member import packet_of
from livefusion.media.encode.outlet import EncodedPicture
from livefusion.media.encode.sei import noted, notice_unit
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline.badge import BadgeStamp
from livefusion.pipeline.mark import MarkStamp
from livefusion.provenance.label import stream_notice
from livefusion.testing.mark import FIXED_MARK
from livefusion.testing.reel import draw_reel

_SHOTS, _WARM_UP, _FRAMES = 20, 20, 400
_KEY_FRAME_BYTES = 75_000  # one of 720p at the quality of recordings


def measure(options: BenchOptions) -> list[Figure]:
    """720p on one thread, the notice in every picture although only key frames carry it."""
    options.note(f"marks: {_FRAMES} frames of 720p")
    spent = measure_marks(_WARM_UP, _FRAMES) / 1e6
    names = ("badge", "watermark", "notice")
    figures = [
        Figure("marks", f"{name} p50", _percentile(column, 50), "ms", "≤ 1" if name == "watermark" else "")
        for name, column in zip(names, spent.T, strict=True)
    ]
    together = spent.sum(axis=1)
    figures.append(Figure("marks", "together p50", _percentile(together, 50), "ms"))
    figures.append(Figure("marks", "together p95", _percentile(together, 95), "ms", "≤ 1.5"))
    return figures


def measure_marks(warm_up: int, frames: int) -> npt.NDArray[np.float64]:
    """(frames, 3) nanoseconds of this thread's processor time for badge, watermark and notice."""
    device = CpuDevice()
    reel = draw_reel(PerformerOptions.parse("performer:?face=250"), _SHOTS)
    pool, stream = FramePool(device, reel.size), device.stream("render")
    badge, mark = BadgeStamp(device), MarkStamp(device)
    mark.prepare()
    unit = notice_unit(stream_notice(FIXED_MARK))
    data = b"\0\0\0\1\x67" + bytes(range(1, 60)) + b"\0\0\1\x65" + b"\x80" * _KEY_FRAME_BYTES
    packet = packet_of(EncodedPicture(data, 0, is_key=True))
    spent = np.empty((warm_up + frames, 3))
    for number in range(warm_up + frames):
        shot = reel.at(number)
        buffer = pool.acquire(stream)
        np.copyto(buffer.luma, shot.luma)
        np.copyto(buffer.chroma, shot.chroma)
        stamp = Timestamp(number, 1 / PerformerOptions().fps)
        frame = Frame(number, "reel", stamp, 0, reel.size, reel.color, buffer)
        spent[number] = (
            _time(partial(badge.stamp, frame, stream)),
            _time(partial(mark.stamp, frame, FIXED_MARK, stream)),
            _time(partial(noted, packet, unit)),
        )
    return spent[warm_up:]


def _time(work: Callable[[], object]) -> int:
    start = time.thread_time_ns()
    work()
    return time.thread_time_ns() - start


def _percentile(values: npt.NDArray[np.float64], percent: int) -> float:
    return round(float(np.percentile(values, percent)), 3)
