"""A video file as a source, in real time like a camera or as fast as the graph takes it."""

import logging
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

from livefusion.core.errors import InputError, LiveFusionError
from livefusion.core.events import Discontinuity, Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.settings import Pace
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp, ticks_to_ns
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.formats import InputFormat
from livefusion.media.nvcodec.choose import choose_decoder
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.sources.audio import FileAudio
from livefusion.media.sources.demux import OpenDecoder, VideoFile
from livefusion.media.sources.pace import ReleaseClock
from livefusion.media.sources.timeline import Timeline
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)


class FileSource:
    """Reads a video file.

    With ``Pace.REALTIME`` the packet of a picture is decoded when a camera would have delivered it, at
    start + pts: that moment is the frame's ``captured_ns``, so decoding counts as residence. With
    ``Pace.FAST`` it is the moment before decoding. Variable frame rates keep their timestamps. A damaged
    file gives what can be decoded, then ends with a warning. ``duration`` is in seconds of media time;
    ``pictures`` is how many frames may be under way at once. On a GPU it decodes there if it can; ``codecs``
    are the GPU's engines, asked for if left out.
    """

    def __init__(
        self,
        path: Path,
        device: Device,
        *,
        pace: Pace = Pace.FAST,
        duration: float | None = None,
        pictures: int = 16,
        codecs: Codecs | None = None,
    ) -> None:
        self._path = path
        self._device = device
        self._pace = pace
        self._duration = duration
        self._pictures = pictures
        self._codecs = codecs
        self._fallbacks: tuple[Fallback, ...] = ()
        self._name = "file"
        self._clock: Clock = SystemClock()
        self._release = ReleaseClock(self._clock, pace)
        self._reading: _Reading | None = None
        self._format: InputFormat | None = None
        self._queued: deque[Frame | Event] = deque()
        self._decoding_ns = 0
        self._seq = 0
        self._has_ended = False

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
        return self._reading.video.damage if self._reading else ""

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where decoding runs otherwise than it best would, and why; known after ``probe`` or ``open``."""
        return self._reading.video.fallbacks if self._reading else self._fallbacks

    def probe(self) -> InputFormat:
        """Open the file and decode its first picture, to know the format before the graph is built."""
        if self._reading is None:
            decoder = partial(
                choose_decoder, device=self._device, codecs=self._codecs, pictures=self._pictures
            )
            self._reading = _Reading(self._path, self._device, self._pictures, decoder)
            self._has_ended = False
            self._format = self._reading.describe(self._path)
        return self.format

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device from the next one on."""
        self._device, self._pictures = device, pictures
        if self._reading is not None:
            self._reading.video.move(device, pictures)
            self._reading.decoder.move(device, pictures)

    def open(self, context: StageContext) -> None:
        """Open the file. ``InputError`` if it is missing, no video, or nothing in it can be decoded."""
        self._name, self._clock = context.name, context.clock
        self._release = ReleaseClock(context.clock, self._pace)
        self.probe()

    def read(self) -> Frame | Event:
        """The next frame or event, waiting until it is due; ``Eos`` at the end and ever after."""
        if not self._queued and self._reading is not None and not self._has_ended:
            self._advance(self._reading)
        return self._queued.popleft() if self._queued else Eos()

    def interrupt(self) -> None:
        """Make a blocked ``read`` return with ``Eos``."""
        self._release.interrupt()

    def close(self) -> None:
        """Close the file; its format stays known."""
        self._queued.clear()
        if self._reading is not None:
            self._fallbacks = self._reading.video.fallbacks
            self._reading.video.close()
        self._reading = None

    def _advance(self, reading: "_Reading") -> None:
        """Put the next frame, and the events that precede it, into the queue."""
        self._decoding_ns = self._clock.now_ns()
        picture = reading.next_picture(self._wait_for_packet)
        if picture is None:
            self._end(reading)
            return
        stamp = reading.timeline.stamp(picture.pts)
        media_ns = reading.media_ns(stamp)
        if self._is_over(media_ns) or not self._release.wait_until(media_ns):
            self._end(reading)
            return
        if reading.timeline.jumped:
            self._queued.append(Discontinuity("the time of the input jumps"))
        if (change := reading.decoder.adapt(picture)) is not None:
            self._queued.append(change)
        self._queued.append(self._frame(reading.decoder, picture, stamp, media_ns))

    def _wait_for_packet(self, reading: "_Reading", pts: int | None) -> bool:
        """Wait until the earliest picture that the decoder owes is due."""
        if pts is not None and not self._release.wait_until(reading.media_ns(reading.timeline.preview(pts))):
            return False
        self._decoding_ns = self._clock.now_ns()
        return True

    def _frame(self, decoder: FrameDecoder, picture: Any, stamp: Timestamp, media_ns: int) -> Frame:
        is_realtime = self._pace is Pace.REALTIME
        captured_ns = self._release.due_ns(media_ns) if is_realtime else self._decoding_ns
        buffer = decoder.convert(picture)
        seq, self._seq = self._seq, self._seq + 1
        return Frame(seq, self._name, stamp, captured_ns, decoder.size, decoder.color, buffer)

    def _is_over(self, media_ns: int) -> bool:
        return self._duration is not None and media_ns >= self._duration * NANOSECONDS

    def _end(self, reading: "_Reading") -> None:
        self._has_ended = True
        if reading.video.damage:
            _log.warning("%s: %s; %d frames decoded", self._path.name, reading.video.damage, self._seq)
        reading.video.close()


class _Reading:
    """An open file with its first picture decoded, its timeline and its decoder."""

    def __init__(self, path: Path, device: Device, pictures: int, open_decoder: OpenDecoder) -> None:
        self.video = VideoFile(path, open_decoder)
        try:
            self._first = self.video.next_picture(lambda _pts: True)
            if self._first is None:
                raise InputError(f"nothing in {path} can be decoded", "check that it is complete and plays")
            self.decoder = FrameDecoder(device, codec=self.video.codec, pictures=pictures)
            self.decoder.adapt(self._first)
        except LiveFusionError:
            self.video.close()
            raise
        self.timeline = Timeline(self.video.time_base, self.video.fps)
        self._origin: int = self._first.pts or 0

    def next_picture(self, wait: Any) -> Any:
        """The next picture, or None; ``wait(self, pts)`` comes before each packet that is decoded."""
        picture, self._first = self._first, None
        if picture is None:
            picture = self.video.next_picture(lambda pts: bool(wait(self, pts)))
        return picture

    def media_ns(self, stamp: Timestamp) -> int:
        """Nanoseconds of media time since the first picture."""
        return ticks_to_ns(stamp.pts - self._origin, stamp.time_base)

    def describe(self, path: Path) -> InputFormat:
        """What the file delivers."""
        video, decoder, first = self.video, self.decoder, self._first
        notes = []
        if (first.width | first.height) & 1:
            notes.append(f"cropped from {first.width}x{first.height} to even sides")
        if decoder.orientation.mirrored:
            notes.append("stored mirrored")
        return InputFormat(
            uri=str(path),
            size=decoder.size,
            fps=video.fps,
            color=decoder.color,
            time_base=video.time_base,
            pixel_aspect=1 / video.pixel_aspect if decoder.orientation.transpose else video.pixel_aspect,
            rotation=decoder.orientation.rotation,
            frames=video.frames,
            duration=video.duration,
            has_audio=video.has_audio,
            note="; ".join(notes),
        )
