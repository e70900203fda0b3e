"""A recording that can be played at any moment, even of a run that was killed."""

from pathlib import Path

from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.events import Event
from livefusion.core.files import cannot_write
from livefusion.core.frame import RenderedFrame
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.encoder import Encoder
from livefusion.media.file_claim import FileClaim
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.choose import ChosenEncoder
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.paths import same_file
from livefusion.media.sinks.recording import Recording
from livefusion.media.sinks.sink import SinkStats
from livefusion.media.sinks.split import Split
from livefusion.runtime.stage import StageContext

# Killed after 300 frames with a key frame each 30: a plain MP4 plays 0 of them, fragments without flushing
# 268 and then an error, these options 270. On a clean close hybrid_fragmented leaves an ordinary MP4.
# Without delay_moov a sound track that starts a few milliseconds after the pictures is moved to their start.
# Where the sound ends first, FFmpeg would hold ten seconds of pictures back in case more of it came, and a
# kill would lose them; sound is muxed ahead of its pictures here, so a tenth of a second (in µs) is enough.
# use_metadata_tags keeps names of tags that FFmpeg does not know.
_LIVE = {"flush_packets": "1", "max_interleave_delta": "100000"}
_MUXERS = {
    ".mp4": ("mp4", {"movflags": "+hybrid_fragmented+delay_moov+use_metadata_tags", **_LIVE}),
    ".mkv": ("matroska", {"cluster_time_limit": "500", **_LIVE}),
}
# What a recording may lag behind: nobody watches it, and PyNvVideoCodec 2.2.4 holds three packets back.
_LATE = 4
SUFFIXES = tuple(_MUXERS)
"""File name endings that say what to write."""


class FileSink:
    """Writes MP4 or Matroska, by the ending of the name, with H.264 and the sound of the input.

    Frames keep their media time, counted from the first one. A frame whose time does not rise, such as a
    repeat during a stall, is left out: the one before it is shown for longer anyway. Pictures of a later
    size are fitted into the first. ``inputs`` are files that must not be overwritten. When it is opened again
    after a failure it goes on in ``NAME-2.mp4``, so that nothing recorded is lost; so it does when a part has
    the length or the size that ``split`` allows, without a picture left out. Pictures on a GPU are encoded
    there if it can; ``codecs`` are its engines, asked for if left out.
    """

    def __init__(
        self,
        path: Path,
        device: Device,
        output: OutputFormat,
        *,
        inputs: tuple[Path, ...] = (),
        encoder: Encoder | None = None,
        codecs: Codecs | None = None,
        split: Split | None = None,
    ) -> None:
        self._path = path
        self._split = split or Split()
        self._context: StageContext | None = None
        self._output = output
        self._inputs = inputs
        self._encoder = encoder or ChosenEncoder(device, codecs=codecs, late=_LATE)
        self._stats = SinkStats(str(path))
        self._part = 1
        self._part_is_kept = False
        self._recording: Recording | None = None
        self._claim: FileClaim | None = None

    @property
    def stats(self) -> SinkStats:
        """What was written so far."""
        return self._stats

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why; known after ``open``."""
        return self._encoder.fallbacks if isinstance(self._encoder, ChosenEncoder) else ()

    @property
    def path(self) -> Path:
        """The file that is, or will be, written."""
        return self._path if self._part == 1 else self._path.with_stem(f"{self._path.stem}-{self._part}")

    def open(self, context: StageContext) -> None:
        """Create the file. ``OutputError`` if it cannot be, or would overwrite an input."""
        muxer, options = _choose_muxer(self._path)
        self._context = context
        if self._part_is_kept:
            self._part, self._part_is_kept = self._part + 1, False
        self._refuse_inputs()
        self._claim = _create(self.path)
        try:
            self._encoder.open(self._output)
            self._stats.encoders += isinstance(self._encoder, ChosenEncoder)
            target = f"file:{self.path}"
            self._recording = Recording(target, muxer, options, self._encoder.codec, self._output)
        except (FFmpegError, OSError, ValueError) as error:
            raise self._failure(error) from error
        finally:
            if self._recording is None:
                self._claim.release()

    def write(self, item: RenderedFrame) -> None:
        """Encode a frame and write its packet, behind the sound that starts before its end."""
        assert self._recording is not None, "open comes first"
        frame = item.frame
        ts = frame.ts.rescale(self._output.time_base)
        if not self._recording.is_new(ts):
            return
        if self._context is not None and self._split.is_due(self._recording.seconds, self._recording.bytes):
            self.close()
            self.open(self._context)
        try:
            packets = self._encoder.encode(frame)
            # Only now: what stands in for a picture that could not be encoded has the same time.
            self._recording.begin(ts)
            self._stats.bytes += self._recording.mux(packets)
        except (FFmpegError, OSError) as error:
            raise self._failure(error) from error
        self._stats.frames += 1

    def handle(self, event: Event) -> None:
        """Do nothing: a change of size is seen in the frames."""

    def close(self) -> None:
        """Write what is left and finish the file; one without a picture is removed."""
        claim, self._claim = self._claim, None
        try:
            if self._recording is not None:
                self._finish(self._recording)
        finally:
            self._recording = None
            if claim is not None:
                claim.release()

    def _finish(self, recording: Recording) -> None:
        try:
            if not recording.empty:
                recording.mux(self._encoder.flush())
            recording.finish()
        except (FFmpegError, OSError) as error:
            raise self._failure(error) from error
        finally:
            self._encoder.close()
            recording.release()
            self._part_is_kept = not recording.empty and not self._is_bare()
            if not self._part_is_kept:
                self.path.unlink(missing_ok=True)
        if self._part_is_kept and self._output.label is not None:
            self._output.label.finished(self.path)

    def _is_bare(self) -> bool:
        """Whether nothing of the pictures got into the file: its disk was full from the beginning."""
        return self.path.is_file() and self.path.stat().st_size == 0

    def _refuse_inputs(self) -> None:
        for path in self._inputs:
            if same_file(self.path, path):
                raise OutputError(f"{self.path} is the input itself", "write to another file")

    def _failure(self, error: Exception) -> OutputError:
        reason = error.strerror if isinstance(error, OSError | FFmpegError) else str(error)
        text = f"{self.path} cannot be written ({reason})"
        self._stats.errors.append(text)
        return OutputError(text, "free some space or choose another folder")


def _choose_muxer(path: Path) -> tuple[str, dict[str, str]]:
    try:
        return _MUXERS[path.suffix.lower()]
    except KeyError as error:
        raise OutputError(
            f"{path.name} does not say what to write", f"end the name in {' or '.join(SUFFIXES)}"
        ) from error


def _create(path: Path) -> FileClaim:
    """Make the file now, so that a wrong path is known before the first picture."""
    try:
        if path.is_fifo():  # opening it would wait for its reader
            raise OutputError(f"{path} is a pipe, not a file", "choose another name")
        return FileClaim(path)
    except OSError as error:
        raise cannot_write(path, error) from error
