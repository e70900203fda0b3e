"""A clip of the performer, rendered beforehand, for the bench and for tests that want a file."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.geometry import Size
from livefusion.media.h273 import write_color
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.media.sources.performer_truth import FaceTruth

LOOP_SECONDS = 10.0
"""A longer clip repeats so much motion, which has no seam: encoded once, its packets are written again."""

# No B-frames, as from a camera: pictures come in order, and the packets can be cut off anywhere. With grain
# the clip has 8 Mbit/s at 720p, as a phone's, and costs 27 ms of CPU a frame; medium makes 7 Mbit/s in 66 ms.
_CODEC = {"preset": "veryfast", "crf": "18", "bf": "0", "x264-params": "open-gop=0"}

Progress = Callable[[float], None]


def render_clip(  # noqa: PLR0917 - what a clip is, in the order in which one says it
    path: Path,
    size: Size,
    fps: Fraction,
    face_height: int,
    seconds: float,
    seed: int = 0,
    *,
    truth: Path | None = None,
    progress: Progress | None = None,
) -> int:
    """Render an H.264 clip of one moving face and return the number of its frames; see ``render_scene``."""
    options = PerformerOptions(size=size, fps=fps, face=face_height, seconds=seconds, seed=seed)
    return render_scene(path, options, truth=truth, progress=progress)


def render_scene(
    path: Path, options: PerformerOptions, *, truth: Path | None = None, progress: Progress | None = None
) -> int:
    """Render ``options.seconds`` of a scene to an MP4 or MKV file and return the number of its frames.

    A clip of more than ``LOOP_SECONDS`` repeats the first ones, unless there are cuts.
    ``truth`` names an .npz file for ``save_truth``. ``progress`` is called with the share done, 0 to 1.
    ``OutputError`` if the file cannot be written, ``InputError`` if the options cannot be drawn.
    """
    if options.seconds is None:
        raise OutputError("a clip needs an end", "give seconds")
    frames = options.frames or 1
    if options.seconds > LOOP_SECONDS and not options.cut and options.loop is None:
        options = replace(options, loop=LOOP_SECONDS)
    scene = PerformerScene(options)
    drawn = frames if options.loop is None else min(frames, round(options.loop * options.fps))
    try:
        with av.open(str(path), "w") as container:
            stream = _video_stream(container, options)
            _write(container, _encoded(stream, scene, drawn, progress), frames, drawn)
    except (FFmpegError, OSError, ValueError) as error:
        raise OutputError(f"cannot write {path} ({error})", "choose another place or name") from error
    if truth is not None:
        save_truth(truth, scene, frames)
    return frames


def save_truth(path: Path, scene: PerformerScene, frames: int) -> None:
    """Write where the faces are, with n frames and p people.

    ``landmarks`` (n, p, 478, 3) float32 in pixels, ``boxes`` (n, p, 4) float32 left, top, width, height,
    ``poses`` (n, p, 3) float32 yaw, pitch, roll in degrees, ``hidden`` (n, p, 478) bool.
    ``OutputError`` if the file cannot be written.
    """
    truths = [scene.truth(frame) for frame in range(frames)]

    def table(value: Callable[[FaceTruth], Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.array([[value(face) for face in faces] for faces in truths], dtype)

    try:
        np.savez_compressed(
            path,
            landmarks=table(lambda face: face.landmarks, np.float32),
            boxes=table(lambda face: (face.box.x, face.box.y, face.box.width, face.box.height), np.float32),
            poses=table(lambda face: (face.pose.yaw, face.pose.pitch, face.pose.roll), np.float32),
            hidden=table(lambda face: face.hidden, np.bool_),
        )
    except OSError as error:
        raise OutputError(
            f"cannot write {path} ({error.strerror})", "choose another place or name"
        ) from error


def _video_stream(container: Any, options: PerformerOptions) -> Any:
    stream = container.add_stream("libx264", rate=options.fps)
    stream.width, stream.height, stream.pix_fmt = options.size.width, options.size.height, "yuv420p"
    stream.codec_context.time_base = 1 / options.fps
    # A reader can start at each second.
    stream.codec_context.options = {**_CODEC, "g": str(round(options.fps))}
    write_color(stream.codec_context, options.color)
    return stream


def _encoded(stream: Any, scene: PerformerScene, frames: int, progress: Progress | None) -> Iterator[Any]:
    """The packets of the first frames, in decoding order."""
    picture = _Picture(scene.options)
    for index in range(frames):
        yield from stream.encode(picture.draw(scene, index))
        if progress is not None:
            progress((index + 1) / frames)
    yield from stream.encode(None)


def _write(container: Any, packets: Iterator[Any], frames: int, drawn: int) -> None:
    """Write the packets, and repeat them in time order until ``frames`` are written."""
    written: list[tuple[bytes, int, int, bool]] = []
    stream = container.streams.video[0]
    for packet in packets:
        written.append((bytes(packet), packet.pts, packet.dts, packet.is_keyframe))
        container.mux(packet)
    step = round(1 / (stream.codec_context.framerate * stream.codec_context.time_base))
    for start in range(drawn, frames, drawn):
        for content, pts, dts, is_key in written[: frames - start]:
            container.mux(_packet(stream, content, pts + start * step, dts + start * step, is_key))


def _packet(stream: Any, content: bytes, pts: int, dts: int, is_key: bool) -> Any:
    packet = av.Packet(content)
    packet.stream, packet.pts, packet.dts = stream, pts, dts
    packet.time_base, packet.is_keyframe = stream.codec_context.time_base, is_key
    return packet


class _Picture:
    """One I420 picture for the encoder, drawn into again and again."""

    def __init__(self, options: PerformerOptions) -> None:
        size = options.size
        self._luma = np.empty((size.height, size.width), np.uint8)
        self._chroma = np.empty((size.height // 2, size.width // 2, 2), np.uint8)
        self._options = options

    def draw(self, scene: PerformerScene, index: int) -> Any:
        """Frame ``index`` as an ``av.VideoFrame``."""
        scene.draw(index, self._luma, self._chroma)
        half = self._luma.shape[0] // 2
        cb, cr = (np.ascontiguousarray(self._chroma[..., i]).reshape(half // 2, -1) for i in (0, 1))
        picture = av.VideoFrame.from_ndarray(np.vstack([self._luma, cb, cr]), format="yuv420p")
        picture.pts, picture.time_base = index, 1 / self._options.fps
        write_color(picture, self._options.color)
        return picture
