"""The slate as a picture of the graph: for the safety policy, the panic switch, and what is lost."""

import logging
import threading
from dataclasses import dataclass, replace
from functools import partial

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceError
from livefusion.core.frame import Buffer, Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device, Stream
from livefusion.devices.pool import FramePool
from livefusion.pipeline.beside import run_beside
from livefusion.pipeline.mark import MarkStamp
from livefusion.provenance.badge import SLATE_TEXT, slate
from livefusion.provenance.chips import EPOCH_SECONDS, EPOCHS
from livefusion.provenance.watermark import Watermark

_log = logging.getLogger(__name__)

_Kind = tuple[str, Size, ColorInfo, str]
"""Name of the device, picture size and colours, and what the slate says."""


@dataclass(frozen=True, slots=True)
class _Marking:
    """What a slate is marked with: the mark of the run, None for a run without, in which stretch of time."""

    mark: Watermark | None
    stretch: int

    @staticmethod
    def at(mark: Watermark | None, seconds: float) -> "_Marking":
        """The marking at a media time."""
        return _Marking(mark, 0 if mark is None else int(seconds // EPOCH_SECONDS))

    def outdates(self, kept: "_Marking") -> bool:
        """Whether another has to take the place of one that is kept.

        Not where it is one stretch older: outputs are not all at the same time, and would take turns.
        """
        return self.stretch > kept.stretch or self.stretch < kept.stretch - 1


class SlateShelf:
    """Slates by picture size, colour description and text, which are only read once they are drawn.

    They carry the watermark of the run like any other picture. When its epoch ends the next one is drawn on
    a thread beside, and the former one shown until it is there; only the first one of a kind is waited for.
    A device that refuses memory for one gets it in host memory: there always is a slate. Thread-safe.
    """

    def __init__(self, device: Device) -> None:
        self._host = _Drawer(CpuDevice())
        self._drawer = _Drawer(device)
        self._lock = threading.Lock()
        self._kept: dict[_Kind, tuple[_Marking, Buffer]] = {}
        self._asked: dict[_Kind, _Marking] = {}
        self.text = SLATE_TEXT
        """What the slates of the panic switch say; replaced, and read once a picture."""
        self.mark: Watermark | None = None
        """The run's watermark, set before the first picture; tests that compare pixels have none."""
        self.patient = False
        """Whether a slate of another epoch is waited for: a file comes out the same each time then."""

    def prepare(self, size: Size, color: ColorInfo) -> None:
        """Draw the slate of the panic switch, on the device and for the case that it is lost."""
        with self._lock:
            for drawer in (self._drawer, self._host):
                self._on(drawer, (drawer.device.name, size, color, self.text), _Marking.at(self.mark, 0.0))

    def move(self, device: Device) -> None:
        """Keep slates on another device from now on, and let go of those on the former one."""
        with self._lock:
            self._kept = {kind: kept for kind, kept in self._kept.items() if kind[0] == "cpu"}
            self._drawer = _Drawer(device)

    def picture(self, frame: Frame, text: str = SLATE_TEXT) -> Buffer:
        """The slate in place of a frame, whose pixels are not read; nobody may change it."""
        with self._lock:
            return self._for(self._drawer, frame, text)

    def like(self, shown: RenderedFrame) -> RenderedFrame:
        """The slate in the format, and with the numbers, of another picture."""
        return stand_in(shown, self.picture(shown.frame, self.text))

    def host_like(self, shown: RenderedFrame) -> RenderedFrame:
        """The same in host memory, which no device has to be asked for."""
        with self._lock:
            return stand_in(shown, self._for(self._host, shown.frame, self.text))

    def in_place_of(self, frame: Frame) -> RenderedFrame:
        """The slate as what becomes of a frame."""
        return RenderedFrame(frame.with_buffer(self.picture(frame)), Outcome.SAFE)

    def _for(self, drawer: "_Drawer", frame: Frame, text: str) -> Buffer:
        kind = (drawer.device.name, frame.size, frame.color, text)
        return self._on(drawer, kind, _Marking.at(self.mark, frame.ts.seconds))

    def _on(self, drawer: "_Drawer", kind: _Kind, marking: _Marking) -> Buffer:
        kept = self._kept.get(kind)
        if kept is None or kept[0].mark is not marking.mark:
            kept = self._kept[kind] = marking, self._first(drawer, kind, marking)
        elif self.patient and kept[0] != marking:
            kept = self._kept[kind] = self._next(drawer, kind, marking) or kept
        elif marking.outdates(kept[0]) and self._asked.get(kind) != marking:
            self._asked[kind] = marking
            run_beside(partial(self._renew, drawer, kind, marking))
        return kept[1]

    def _first(self, drawer: "_Drawer", kind: _Kind, marking: _Marking) -> Buffer:
        try:
            return drawer.draw(kind, marking)
        except DeviceError as error:
            if drawer is self._host or drawer.device.name == "cpu":
                raise
            _log.debug("the slate is kept in host memory: %s", error)
            return self._on(self._host, ("cpu", *kind[1:]), marking)

    def _next(self, drawer: "_Drawer", kind: _Kind, marking: _Marking) -> tuple[_Marking, Buffer] | None:
        """The slate of another stretch; None where it cannot be drawn, and the former one stays."""
        try:
            return marking, drawer.draw(kind, marking)
        except DeviceError as error:
            _log.debug("the slate is not marked anew: %s", error)
            return None

    def _renew(self, drawer: "_Drawer", kind: _Kind, marking: _Marking) -> None:
        drawn = self._next(drawer, kind, marking)
        with self._lock:
            if drawn is not None and drawer in (self._drawer, self._host):  # no longer after a move
                self._kept[kind] = drawn


class _Drawer:
    """Draws slates on a device, one at a time; the device is asked for nothing before, for it may be lost."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        self._stamp = MarkStamp(device)
        self._pools: dict[_Kind, FramePool] = {}

    def draw(self, kind: _Kind, marking: _Marking) -> Buffer:
        """A slate; at most one former one of its kind may still be in use."""
        with self._lock:
            luma, chroma = slate(*kind[1:])
            stream = self._stream = self._stream or self.device.stream("slate")
            if kind not in self._pools:
                self._pools[kind] = FramePool(self.device, kind[1], limit=2)
            buffer = self._pools[kind].acquire(stream)
            self.device.copy(buffer.luma, luma, stream)
            self.device.copy(buffer.chroma, chroma, stream)
            if marking.mark is not None:
                mark = marking.mark, kind[1], marking.stretch % EPOCHS
                self._stamp.lay(buffer.luma, mark, stream)
            return buffer.after(stream.record())


def stand_in(shown: RenderedFrame, pixels: Buffer) -> RenderedFrame:
    """The slate with the numbers of another picture; it stands in for what that one stood for."""
    return replace(shown, frame=replace(shown.frame, buffer=pixels), outcome=Outcome.SAFE)
