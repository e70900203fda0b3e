"""A video file as a source, in real time like a camera or as fast as the graph takes it."""

import logging
from collections import deque
from pathlib import Path
from typing import Any

from livefusion.core.errors import InputError
from livefusion.core.events import Discontinuity, Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.settings import Pace
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp
from livefusion.core.trace import FrameTrace
from livefusion.devices.device import Device
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.formats import InputFormat
from livefusion.media.sources.audio import FileAudio
from livefusion.media.sources.demux import VideoFile
from livefusion.media.sources.pace import ReleaseClock
from livefusion.media.sources.timeline import Timeline
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)


class FileSource:
    """Reads a video file.

    With ``Pace.REALTIME`` the packet of a picture is decoded when a camera would have delivered it, at
    start + pts: that moment is the frame's ``captured_ns``, so decoding counts as residence. With
    ``Pace.FAST`` it is the moment before decoding. Variable frame rates keep their timestamps. A damaged
    file gives what can be decoded, then ends with a warning. ``duration`` is in seconds of media time.
    """

    def __init__(
        self,
        path: Path,
        device: Device,
        *,
        pace: Pace = Pace.FAST,
        duration: float | None = None,
        pictures: int = 16,
    ) -> None:
        self._path = path
        self._device = device
        self._pace = pace
        self._duration = duration
        self._pictures = pictures
        self._name = "file"
        self._clock: Clock = SystemClock()
        self._release = ReleaseClock(self._clock, pace)
        self._video: VideoFile | None = None
        self._format: InputFormat | None = None
        self._queued: deque[Frame | Event] = deque()
        self._first_picture: Any = None
        self._seq = 0

    @property
    def format(self) -> InputFormat:
        """What the file delivers; known after ``probe`` or ``open``."""
        assert self._format is not None, "probe or open comes first"
        return self._format

    @property
    def audio(self) -> FileAudio | None:
        """The sound of the file for sinks that keep it."""
        return FileAudio(self._path) if self.format.has_audio else None

    @property
    def damage(self) -> str:
        """What was found broken in the file so far, in words; empty if nothing."""
        return self._video.damage if self._video else ""

    def probe(self) -> InputFormat:
        """Open the file and decode its first picture, to know the format before the graph is built."""
        if self._format is None:
            self._video = VideoFile(self._path)
            try:
                self._start_decoding(self._video)
            except InputError:
                self.close()
                raise
        return self.format

    def open(self, context: StageContext) -> None:
        """Open the file. ``InputError`` if it is missing, no video, or nothing in it can be decoded."""
        self._name, self._clock = context.name, context.clock
        self._release = ReleaseClock(context.clock, self._pace)
        self.probe()

    def read(self) -> Frame | Event:
        """The next frame or event, waiting until it is due; ``Eos`` at the end and ever after."""
        if not self._queued:
            self._advance()
        return self._queued.popleft() if self._queued else Eos()

    def interrupt(self) -> None:
        """Make a blocked ``read`` return with ``Eos``."""
        self._release.interrupt()

    def close(self) -> None:
        """Close the file."""
        self._queued.clear()
        self._first_picture = None
        if self._video is not None:
            self._video.close()
        self._video = self._format = None

    def _start_decoding(self, video: VideoFile) -> None:
        picture = video.next_picture(lambda _pts: True)
        if picture is None:
            raise InputError(f"nothing in {self._path} can be decoded", "check that it is complete and plays")
        self._decoder = FrameDecoder(self._device, codec=video.codec, pictures=self._pictures)
        self._decoder.adapt(picture)
        self._timeline = Timeline(video.time_base, video.fps)
        self._origin: Timestamp | None = None
        self._first_picture = picture
        self._format = self._describe(video, picture)

    def _advance(self) -> None:
        """Put the next frame, and the events that precede it, into the queue."""
        if self._video is None:
            return
        picture, self._first_picture = self._first_picture, None
        self._decoding_ns = self._clock.now_ns()
        if picture is None:
            picture = self._video.next_picture(self._wait_for_packet)
        if picture is None:
            self._end()
            return
        stamp = self._timeline.stamp(picture.pts)
        if self._origin is None:
            self._origin = stamp
        media_ns = self._media_ns(stamp)
        if self._is_over(media_ns) or not self._release.wait_until(media_ns):
            self._end()
            return
        if self._timeline.jumped:
            self._queued.append(Discontinuity("the time of the input jumps"))
        self._queued.extend(self._frame(picture, stamp, media_ns))

    def _wait_for_packet(self, pts: int | None) -> bool:
        """Wait until the earliest picture that the decoder owes is due."""
        if pts is not None and self._origin is not None:
            media_ns = self._media_ns(self._timeline.preview(pts))
            if not self._release.wait_until(media_ns):
                return False
        self._decoding_ns = self._clock.now_ns()
        return True

    def _frame(self, picture: Any, stamp: Timestamp, media_ns: int) -> list[Frame | Event]:
        is_realtime = self._pace is Pace.REALTIME
        captured_ns = self._release.due_ns(media_ns) if is_realtime else self._decoding_ns
        change = self._decoder.adapt(picture)
        buffer = self._decoder.convert(picture)
        trace = FrameTrace()
        trace.add("decode", max(captured_ns, self._decoding_ns), self._clock.now_ns())
        size, color = self._decoder.size, self._decoder.color
        frame = Frame(self._seq, self._name, stamp, captured_ns, size, color, buffer, trace=trace)
        self._seq += 1
        return [change, frame] if change else [frame]

    def _media_ns(self, stamp: Timestamp) -> int:
        """Nanoseconds of media time since the first picture."""
        assert self._origin is not None
        return round((stamp.pts - self._origin.pts) * stamp.time_base * NANOSECONDS)

    def _is_over(self, media_ns: int) -> bool:
        return self._duration is not None and media_ns >= self._duration * NANOSECONDS

    def _end(self) -> None:
        if self._video is not None and self._video.damage:
            _log.warning("%s: %s; %d frames decoded", self._path.name, self._video.damage, self._seq)
        if self._video is not None:
            self._video.close()

    def _describe(self, video: VideoFile, picture: Any) -> InputFormat:
        decoder = self._decoder
        notes = []
        if (picture.width | picture.height) & 1:
            notes.append(f"cropped from {picture.width}x{picture.height} to even sides")
        if decoder.orientation.mirrored:
            notes.append("stored mirrored")
        return InputFormat(
            uri=str(self._path),
            size=decoder.size,
            fps=video.fps,
            color=decoder.color,
            time_base=video.time_base,
            rotation=decoder.orientation.rotation,
            frames=video.frames,
            duration=video.duration,
            has_audio=video.has_audio,
            note="; ".join(notes),
        )
