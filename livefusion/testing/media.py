"""Makers of tiny clips whose every sample is known, for tests of decoders, encoders and sinks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.media.h273 import write_color

Plane = npt.NDArray[np.uint8]

LOSSLESS_H264 = {"qp": "0", "preset": "ultrafast"}
"""Options with which libx264 keeps every sample."""


@dataclass(frozen=True, slots=True)
class ClipFormat:
    """How ``write_clip`` stores a clip; the container follows the ending of the file's name.

    ``pts`` are ticks of ``time_base``, counted up from 0 at ``fps`` if left out. ``display_matrix`` is nine
    integers as ISO 14496-12 writes them. ``sound`` is the encoder of a sine tone of ``sound_seconds``.
    """

    codec: str = "ffv1"
    pixel_format: str = "yuv420p"
    fps: Fraction = Fraction(30)
    time_base: Fraction | None = None
    pts: Sequence[int] | None = None
    color: ColorInfo | None = None
    display_matrix: Sequence[int] | None = None
    options: dict[str, str] | None = None
    sound: str = ""
    sound_seconds: float = 1.0


def pattern_planes(size: Size, index: int = 0) -> tuple[Plane, Plane, Plane]:
    """Y (h, w), Cb and Cr (⌈h/2⌉, ⌈w/2⌉): ramps without symmetry, and a box that moves with ``index``."""
    rows, columns = np.mgrid[0 : size.height, 0 : size.width]
    luma = 16 + (columns * 3 + rows * 5 + index) % 200
    luma[1 : size.height // 3, 2 + index % 8 : 2 + index % 8 + size.width // 4] = 230
    half_rows, half_columns = np.mgrid[0 : (size.height + 1) // 2, 0 : (size.width + 1) // 2]
    blue = 20 + (half_columns * 7 + half_rows) % 200
    red = 20 + (half_columns + half_rows * 11) % 200
    return luma.astype(np.uint8), blue.astype(np.uint8), red.astype(np.uint8)


def pattern_picture(size: Size, index: int = 0) -> av.VideoFrame:
    """``pattern_planes`` as a yuv420p picture."""
    picture = av.VideoFrame(size.width, size.height, "yuv420p")
    for plane, values in zip(picture.planes, pattern_planes(size, index), strict=True):
        fill_plane(plane, values)
    return picture


def flat_picture(size: Size, pixel_format: str, samples: Sequence[int]) -> av.VideoFrame:
    """A picture with the same sample value everywhere in each plane; 16-bit storage above 8 bits."""
    picture = av.VideoFrame(size.width, size.height, pixel_format)
    wide = picture.format.components[0].bits > 8
    planes: Sequence[Any] = picture.planes
    for plane, sample in zip(planes, samples, strict=True):
        np.frombuffer(plane, np.uint16 if wide else np.uint8)[:] = sample
    return picture


def fill_plane(plane: Any, values: Plane) -> None:
    """Write (h, w) samples into an ``av.VideoPlane`` whose lines may be padded."""
    lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    lines[: values.shape[0], : values.shape[1]] = values


def luma_of(picture: av.VideoFrame) -> Plane:
    """The luma samples of an 8-bit YUV picture as they are; PyAV's conversion to grey changes their range."""
    plane: Any = picture.planes[0]
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: picture.height, : picture.width]


def patch_samples(rgb: tuple[int, int, int], color: ColorInfo, bits: int = 8) -> tuple[int, int, int]:
    """Y, Cb, Cr of an 8-bit RGB colour by the equations of H.273, independent of any library."""
    red, green, blue = (value / 255 for value in rgb)
    kr, kb = color.luma_weights
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    scale = 1 << (bits - 8)
    cb = 128 + color.chroma_span * (blue - luma) / (2 * (1 - kb))
    cr = 128 + color.chroma_span * (red - luma) / (2 * (1 - kr))
    codes = (color.luma_offset + color.luma_span * luma, cb, cr)
    y, u, v = (min(round(code * scale), (1 << bits) - 1) for code in codes)
    return y, u, v


def write_clip(path: Path, pictures: Iterable[av.VideoFrame], form: ClipFormat | None = None) -> Path:
    """Encode pictures into a file; gives its path."""
    form = form or ClipFormat()
    with av.open(str(path), "w") as container:
        video: Any = None
        sound = container.add_stream(form.sound, rate=48000, layout="stereo") if form.sound else None
        for index, picture in enumerate(pictures):
            if video is None:
                video = _add_video(container, picture, form)
            picture.pts = form.pts[index] if form.pts is not None else index
            picture.time_base = form.time_base or 1 / form.fps
            if form.color is not None:
                write_color(picture, form.color)
            container.mux(video.encode(picture))
        if video is not None:
            container.mux(video.encode(None))
        if sound is not None:
            _write_sound(container, sound, form.sound_seconds)
    return path


def decode_clip(path: Path) -> list[av.VideoFrame]:
    """All pictures of a file."""
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def packet_times(path: Path, kind: str) -> list[Fraction]:
    """The pts of all packets of the first ``video`` or ``audio`` stream in seconds, in order."""
    with av.open(str(path)) as container:
        stream = getattr(container.streams, kind)[0]
        packets = [packet for packet in container.demux(stream) if packet.pts is not None]
        return sorted(packet.pts * packet.time_base for packet in packets)


def _add_video(container: Any, picture: av.VideoFrame, form: ClipFormat) -> Any:
    stream = container.add_stream(form.codec, rate=form.fps, options=form.options or {})
    stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, form.pixel_format
    stream.codec_context.time_base = form.time_base or 1 / form.fps
    if form.color is not None:
        write_color(stream.codec_context, form.color)
    if form.display_matrix is not None:
        stream.set_display_matrix(form.display_matrix)
    return stream


def _write_sound(container: Any, stream: Any, seconds: float) -> None:
    rate = 48000
    wanted = stream.codec_context.format.name if stream.codec_context.format else "fltp"
    resampler = av.AudioResampler(format=wanted, layout="stereo", rate=rate)
    tone = np.sin(np.arange(round(seconds * rate)) * (2 * np.pi * 440 / rate)).astype(np.float32) * 0.3
    for start in range(0, tone.size, 1024):
        samples = np.repeat(tone[None, start : start + 1024], 2, axis=0)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format="fltp", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        for converted in resampler.resample(frame):
            container.mux(stream.encode(converted))
    container.mux(stream.encode(None))
