"""Where the graph is tapped: the pictures that go in, those that come out, and what was pasted between."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Full, Queue
from threading import Event as Flag
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from livefusion.core.events import Event
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Region
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device, Operator, Stream
from livefusion.evaluation.picture import Picture
from livefusion.media.formats import AudioFeed, InputFormat
from livefusion.media.host import HostPictures
from livefusion.media.sinks.sink import SinkStats
from livefusion.ops.reference.paste import opacity_table
from livefusion.ops.registry import BLEND_MATCHED, BLEND_YUVA, BLUR_REGION, OCCLUDE
from livefusion.pipeline.ends import PictureSource
from livefusion.runtime.stage import StageContext

Alpha = npt.NDArray[np.uint8]
T = TypeVar("T")

_PATIENCE_S = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Pasted:
    """A new face as it was blended: ``alpha`` (region.height, region.width), 255 where it replaces all.

    ``reach`` is the alpha before what is in front of the face was cut out of it; None if nothing was.
    """

    region: Region
    alpha: Alpha
    reach: Alpha | None = None

    @property
    def uncut(self) -> "Pasted":
        """The new face as if nothing were before it."""
        return self if self.reach is None else Pasted(self.region, self.reach)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A picture before and after, and what the graph says of it.

    ``pasted`` is what was pasted into it, None if that cannot be told; ``covered`` where it was blurred.
    """

    seq: int
    before: Picture
    after: Picture
    outcome: Outcome
    pasted: tuple[Pasted, ...] | None
    covered: tuple[Region, ...] = ()


class PasteTap(CpuDevice):
    """Works like the CPU, and notes what is done to which picture, by the memory that it lies in."""

    def __init__(self) -> None:
        super().__init__()
        self._pasted: dict[int, list[Pasted]] = {}
        self._covered: dict[int, list[Region]] = {}
        self._uncut: tuple[int, Alpha] | None = None

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the operator now; keep the alpha of a patch as it is blended."""
        if operator.name == OCCLUDE.name:
            patch = arguments["patch"]
            self._uncut = (_place(patch), patch[..., 3].copy())
        elif operator.name in {BLEND_MATCHED.name, BLEND_YUVA.name}:
            patch = arguments["patch"]
            region = Region(arguments["x"], arguments["y"], patch.shape[1], patch.shape[0])
            opacity = opacity_table(arguments.get("opacity", 1.0))
            reach, self._uncut = self._uncut, None
            same = reach is not None and (reach[0], reach[1].shape) == (_place(patch), patch.shape[:2])
            pasted = Pasted(
                region, opacity[patch[..., 3]], opacity[reach[1]] if reach is not None and same else None
            )
            self._pasted.setdefault(_place(arguments["luma"]), []).append(pasted)
        elif operator.name == BLUR_REGION.name:
            region = Region(*(arguments[name] for name in ("x", "y", "width", "height")))
            self._covered.setdefault(_place(arguments["luma"]), []).append(region)
        super().launch(operator, arguments, stream)

    def take(self, luma: Any) -> tuple[tuple[Pasted, ...], tuple[Region, ...]]:
        """What was pasted into and covered in the picture with this luma plane since it was taken last."""
        place = _place(luma)
        return tuple(self._pasted.pop(place, ())), tuple(self._covered.pop(place, ()))


class SourceTap:
    """A source whose pictures are copied as they go by; ``change`` may draw into them before.

    After each picture it waits for ``turn`` before it reads on.
    """

    def __init__(
        self,
        source: PictureSource,
        device: Device,
        keep: Callable[[Frame, Picture], None],
        turn: Callable[[], None],
        change: Callable[[int, Picture], Picture | None] | None = None,
    ) -> None:
        self._source = source
        self._host = HostPictures(device)
        self._keep = keep
        self._turn = turn
        self._gave = False
        self._change = change

    @property
    def format(self) -> InputFormat:
        """What the source delivers."""
        return self._source.format

    @property
    def audio(self) -> AudioFeed | None:
        """None: nobody listens."""
        return None

    def probe(self) -> InputFormat:
        """The format."""
        return self._source.probe()

    def move(self, device: Device, pictures: int) -> None:
        """Pass it on."""
        self._source.move(device, pictures)

    def open(self, context: StageContext) -> None:
        """Open the source."""
        self._source.open(context)

    def read(self) -> Any:
        """What the source gives, its picture copied."""
        if self._gave:
            self._turn()
        entry = self._source.read()
        self._gave = isinstance(entry, Frame)
        if not isinstance(entry, Frame):
            return entry
        luma, chroma = self._host.planes(entry)
        picture = Picture(luma.copy(), chroma.copy(), entry.color)
        changed = self._change(entry.seq, picture) if self._change else None
        if changed is not None:
            picture = changed
            np.copyto(luma, changed.luma)
            np.copyto(chroma, changed.chroma)
        self._keep(entry, picture)
        return entry

    def interrupt(self) -> None:
        """Pass it on."""
        self._source.interrupt()

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class PairSink:
    """Puts each finished picture beside what it was made from, into a queue that holds the graph back."""

    def __init__(
        self, device: Device, inputs: dict[int, Picture], pairs: "Queue[Pair | None]", end: Flag
    ) -> None:
        self._device = device
        self._host = HostPictures(device)
        self._inputs = inputs
        self._pairs = pairs
        self._end = end
        self._stats = SinkStats("eval:")

    @property
    def stats(self) -> SinkStats:
        """How many pictures came."""
        return self._stats

    def open(self, context: StageContext) -> None:
        """Do nothing."""

    def write(self, item: RenderedFrame) -> None:
        """Copy the picture and wait until somebody wants it."""
        frame = item.frame
        luma, chroma = (plane.copy() for plane in self._host.planes(frame))
        pasted: tuple[Pasted, ...] | None = None
        covered: tuple[Region, ...] = ()
        if isinstance(self._device, PasteTap):
            pasted, covered = self._device.take(frame.buffer.luma)
        if item.outcome is Outcome.SWAPPED and not pasted:
            pasted = None  # it came into the picture in a way that is not known here
        self._stats.frames += 1
        before = self._inputs.pop(frame.seq, None)
        for older in [seq for seq in self._inputs if seq < frame.seq]:  # the graph dropped them
            del self._inputs[older]
        if before is not None and not item.stands_in:
            after = Picture(luma, chroma, frame.color)
            self._put(Pair(frame.seq, before, after, item.outcome, pasted, covered))

    def handle(self, event: Event) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Say that there are no more."""
        self._put(None)

    def _put(self, pair: Pair | None) -> None:
        while not self._end.is_set():
            try:
                self._pairs.put(pair, timeout=_PATIENCE_S)
            except Full:
                continue
            return


def _place(plane: Any) -> int:
    return int(plane.__array_interface__["data"][0])
