"""Flash and beep: pictures and sound that say when they belong together."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError

from livefusion.core.geometry import Size
from livefusion.testing.media import flat_picture, luma_of

RATE: Final = 48_000
_BEEP_HZ = 1000
_BEEP_SECONDS = 0.1
_BRIGHT, _DARK = 235, 16
_LOUD = 0.05

Samples = npt.NDArray[np.float32]


def write_beacon(
    path: Path, size: Size, fps: int, seconds: int, *, period: float = 1.0, late: float = 0.0
) -> Path:
    """A clip that flashes and beeps each ``period`` seconds; the beep comes ``late`` seconds late."""
    with av.open(str(path), "w") as container:
        video: Any = container.add_stream("libx264", rate=fps, options={"preset": "ultrafast", "bf": "0"})
        video.width, video.height, video.pix_fmt = size.width, size.height, "yuv420p"
        sound: Any = container.add_stream("aac", rate=RATE, layout="mono")
        for index in range(fps * seconds):
            container.mux(video.encode(_picture(size, index, fps, period)))
        container.mux(video.encode(None))
        samples = _beeps(seconds, period, late)
        for start in range(0, samples.size, 1024):
            frame = av.AudioFrame.from_ndarray(samples[None, start : start + 1024], "fltp", "mono")
            frame.sample_rate, frame.pts, frame.time_base = RATE, start, Fraction(1, RATE)
            container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
    return path


def skews(source: str, options: dict[str, str] | None = None) -> list[float]:
    """How many seconds each beep comes after its flash, in a file or a stream to its end.

    ``options`` are FFmpeg's, to listen for instance. Flashes with no beep within half a second are not told.
    """
    flashes, beeps = _onsets(source, options or {})
    nearest = ((min(beeps, key=lambda beep: abs(beep - flash)), flash) for flash in flashes if beeps)
    return [beep - flash for beep, flash in nearest if abs(beep - flash) < 0.5]


def worst(values: Iterable[float]) -> float:
    """The largest distance in seconds, either way."""
    return max((abs(one) for one in values), default=float("inf"))


def _onsets(source: str, options: dict[str, str]) -> tuple[Sequence[float], Sequence[float]]:
    flashes: list[float] = []
    sounds: list[tuple[float, Samples]] = []
    lit = True  # a flash that is on already has no beginning
    # A stream that is hung up ends with an error.
    with suppress(FFmpegError), av.open(source, options=options) as container:
        streams = [container.streams.video[0], container.streams.audio[0]]
        for frame in container.decode(streams):
            if isinstance(frame, av.VideoFrame):
                bright = float(luma_of(frame).mean()) > (_BRIGHT + _DARK) / 2
                if bright and not lit:
                    flashes.append(_seconds(frame))
                lit = bright
            elif isinstance(frame, av.AudioFrame):
                sounds.append((_seconds(frame), frame.to_ndarray()[0].astype(np.float32)))
    return flashes, _beginnings(sounds)


def _beginnings(sounds: list[tuple[float, Samples]]) -> list[float]:
    """When it becomes loud after a tenth of a second of silence."""
    beeps: list[float] = []
    last_loud = float("-inf")
    for start, samples in sounds:
        for place in np.flatnonzero(np.abs(samples) > _LOUD):
            moment = start + float(place) / RATE
            if moment - last_loud > _BEEP_SECONDS:
                beeps.append(moment)
            last_loud = moment
    return beeps


def _seconds(frame: Any) -> float:
    return float(frame.pts * frame.time_base)


def _picture(size: Size, index: int, fps: int, period: float) -> Any:
    lit = (index / fps) % period < _BEEP_SECONDS and index / fps >= period
    picture = flat_picture(size, "yuv420p", (_BRIGHT if lit else _DARK, 128, 128))
    picture.pts, picture.time_base = index, Fraction(1, fps)
    return picture


def _beeps(seconds: int, period: float, late: float) -> Samples:
    time = np.arange(seconds * RATE) / RATE - late
    loud = (time % period < _BEEP_SECONDS) & (time >= period - 1e-9)
    tone: Samples = (0.5 * loud * np.cos(2 * np.pi * _BEEP_HZ * time)).astype(np.float32)
    return tone
