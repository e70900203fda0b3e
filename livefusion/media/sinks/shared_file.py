"""A recording of what the live outputs send: encoded once for all of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.frame import Frame, RenderedFrame
from livefusion.core.timing import Timestamp
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.member import ShareMember, packet_of
from livefusion.media.encode.outlet import TIME_BASE, EncodedPicture
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.file import FileSink
from livefusion.media.sinks.split import Split
from livefusion.runtime.stage import StageContext


class SharedFileSink(FileSink):
    """Writes the packets of the encoder that the live outputs share, which is not asked for more than theirs.

    So the slowest of their viewers decides what the pictures are worth. Otherwise it is as ``FileSink``, but
    a part ends with the key frame after its limit, and pictures of another size go on in a part of their own.
    """

    def __init__(
        self,
        path: Path,
        device: Device,
        output: OutputFormat,
        share: EncoderShare,
        *,
        inputs: tuple[Path, ...] = (),
        split: Split | None = None,
    ) -> None:
        super().__init__(
            path,
            device,
            replace(output, time_base=TIME_BASE),
            inputs=inputs,
            encoder=_Elsewhere(),
            split=split,
        )
        self._share = share
        self._member = ShareMember(share, device)
        self._is_due = False

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._share.fallbacks

    def open(self, context: StageContext) -> None:
        """Create the file. ``OutputError`` if it cannot be, or would overwrite an input."""
        super().open(context)
        self._member.join(self._output)

    def write(self, item: RenderedFrame) -> None:
        """Have a frame encoded, unless another output had it already, and write what was encoded since."""
        for picture in self._member.take(item.frame, self._output):
            self._turn_over(picture)
            self._write_picture(picture)
        self._stats.frames += 1

    def close(self) -> None:
        """Write what is left and finish the file; one without a picture is removed."""
        self._member.leave()
        super().close()

    def _turn_over(self, picture: EncodedPicture) -> None:
        """Go on in another part if this one is full, or its pictures are of another size, at a key frame."""
        assert self._recording is not None, "open comes first"
        assert self._context is not None
        size = picture.size or self._output.size
        full = self._split.is_due(self._recording.seconds, self._recording.bytes)
        if full and not self._is_due and not picture.is_key:
            self._is_due = True
            self._member.request_key()
        if picture.is_key and (full or size != self._output.size):
            super().close()
            self._output = replace(self._output, size=size)
            super().open(self._context)
            self._is_due = False

    def _write_picture(self, picture: EncodedPicture) -> None:
        assert self._recording is not None, "open comes first"
        ts = Timestamp(picture.pts, TIME_BASE)
        if not self._recording.is_new(ts):
            return
        try:
            self._recording.begin(ts)
            self._stats.bytes += self._recording.mux([packet_of(picture)])
        except (FFmpegError, OSError) as error:
            raise self._failure(error) from error


class _Elsewhere:
    """In place of an encoder of its own."""

    codec = "h264"

    def open(self, output: OutputFormat) -> None:
        """Nothing is opened."""

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        """Never asked."""
        raise OutputError("this recording has no encoder of its own")

    def flush(self) -> Sequence[Any]:
        """Nothing is inside."""
        return ()

    def close(self) -> None:
        """Nothing was taken."""
