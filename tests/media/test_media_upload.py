from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.testing.media import pattern_picture, pattern_planes

pytestmark = pytest.mark.media

SIZE = Size(32, 16)


class LateEvent:
    def __init__(self, stream: "LateStream") -> None:
        self._stream, self._end = stream, stream.put

    def synchronize(self) -> None:
        self._stream.run_until(self._end)


class LateStream:
    """Runs nothing until somebody waits for it, as a busy GPU would."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.put = self.done = 0
        self._work: list[Callable[[], None]] = []

    def add(self, work: Callable[[], None]) -> None:
        self._work.append(work)
        self.put += 1

    def run_until(self, end: int) -> None:
        while self.done < end:
            self._work.pop(0)()
            self.done += 1

    def record(self) -> LateEvent:
        return LateEvent(self)

    def wait(self, event: LateEvent | None) -> None:
        if event is not None:
            self.add(event.synchronize)

    def synchronize(self) -> None:
        self.run_until(self.put)


class LateDevice(CpuDevice):
    def stream(self, name: str) -> Any:
        return LateStream(name)

    def copy(self, dst: Any, src: Any, stream: Any) -> None:
        stream.add(lambda: np.copyto(dst, src))

    def run(self, work: Callable[[], None], stream: Any, **declared: Any) -> None:
        assert declared["writes"], "races are found by what is declared"
        stream.add(work)


@pytest.mark.parametrize("staged", [False, True])
def test_pixels_are_there_once_the_ready_event_is_past_and_not_before(staged: bool) -> None:
    decoder = FrameDecoder(LateDevice(), staged=staged)
    buffers = []
    for index in range(5):
        picture = pattern_picture(SIZE, index)
        decoder.adapt(picture)
        buffers.append(decoder.convert(picture))
        del picture  # its memory must live until the work has run
    last = pattern_planes(SIZE, 4)
    assert not np.array_equal(buffers[4].luma, last[0])

    for index, buffer in enumerate(buffers):
        buffer.ready.synchronize()
        y, u, v = pattern_planes(SIZE, index)
        np.testing.assert_array_equal(buffer.luma, y)
        np.testing.assert_array_equal(buffer.chroma, np.stack([u, v], axis=2))


def test_staging_memory_is_not_written_while_a_copy_still_reads_it() -> None:
    decoder = FrameDecoder(LateDevice(), staged=True)
    for index in range(3):
        picture = pattern_picture(SIZE, index)
        decoder.adapt(picture)
        buffer = decoder.convert(picture)
        if index == 0:
            first = buffer
    # The third picture takes the staging memory of the first, so the first copy was waited for.
    np.testing.assert_array_equal(first.luma, pattern_planes(SIZE, 0)[0])
