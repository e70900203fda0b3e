"""Before and after side by side, as a video."""

from pathlib import Path
from types import TracebackType

import numpy as np

from livefusion.core.events import Eos
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.evaluation.tap import Pair
from livefusion.media.formats import InputFormat, OutputFormat
from livefusion.media.sinks.file import FileSink
from livefusion.runtime.stage import StageContext


class SideBySide:
    """Writes pairs to an MP4 or MKV file; used as a context. ``OutputError`` if it cannot be written."""

    def __init__(self, path: Path, form: InputFormat) -> None:
        self._device = CpuDevice()
        self._stream = self._device.stream("movie")
        self._size = Size(2 * form.size.width, form.size.height)
        self._fps = form.fps
        output = OutputFormat(self._size, form.fps, form.color, 1 / form.fps)
        self._pool = FramePool(self._device, self._size)
        self._sink = FileSink(path, self._device, output)
        self._sink.open(StageContext("movie", SystemClock()))

    def __enter__(self) -> "SideBySide":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, pair: Pair) -> None:
        """Write the next pair; one of another size than the first is left out."""
        before, after = pair.before, pair.after
        if Size(2 * before.size.width, before.size.height) != self._size or after.size != before.size:
            return
        buffer = self._pool.acquire(self._stream)
        np.copyto(buffer.luma, np.hstack([before.luma, after.luma]))
        np.copyto(buffer.chroma, np.hstack([before.chroma, after.chroma]))
        stamp = Timestamp(pair.seq, 1 / self._fps)
        frame = Frame(pair.seq, "pair", stamp, 0, self._size, before.color, buffer)
        self._sink.write(RenderedFrame(frame, Outcome.SWAPPED))

    def close(self) -> None:
        """Finish the file."""
        self._sink.handle(Eos())
        self._sink.close()
