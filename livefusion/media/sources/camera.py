"""A camera as a source: what it really delivers, and back again after it was unplugged."""

import logging
from collections import deque
from fractions import Fraction

from livefusion.core.errors import DriverError, LiveFusionError
from livefusion.core.events import Discontinuity, Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.formats import InputFormat
from livefusion.media.sources.camera_link import CameraLink
from livefusion.media.sources.camera_thread import CapturedPicture
from livefusion.media.sources.capture import (
    CameraInfo,
    CameraOpener,
    CameraRequest,
    Capture,
    list_cameras,
    open_camera,
)
from livefusion.runtime.stage import StageContext

__all__ = ["CameraInfo", "CameraRequest", "CameraSource", "list_cameras"]

_log = logging.getLogger(__name__)

CLOCK_RATE = 90_000
TIME_BASE = Fraction(1, CLOCK_RATE)
"""Media time of cameras: MPEG's 90 kHz since the first picture, across every reconnection.

In microseconds an MP4 could not hold a pause of 36 minutes, such as that of a suspended machine.
"""

_RATE_WINDOW = 60
_SLOW = 0.8
"""Share of the promised rate below which a camera is called slow."""


class CameraSource:
    """Reads a camera.

    ``captured_ns`` is the driver's own time where it tells one, else when the picture arrived here. A camera
    that goes away or stalls for two seconds gives a ``Discontinuity``; ``read`` then waits until it is back
    or the source is interrupted. It ends after ``duration`` seconds of media time.
    """

    def __init__(
        self,
        request: CameraRequest,
        device: Device,
        *,
        duration: float | None = None,
        opener: CameraOpener = open_camera,
        pictures: int = 16,
    ) -> None:
        self._request = request
        self._device = device
        self._duration = duration
        self._opener = opener
        self._pictures = pictures
        self._name = "camera"
        self._clock: Clock = SystemClock()
        self._link: CameraLink | None = None
        self._decoder: FrameDecoder | None = None
        self._format: InputFormat | None = None
        self._first: CapturedPicture | None = None
        self._queued: deque[Frame | Event] = deque()
        self._arrivals: deque[int] = deque(maxlen=_RATE_WINDOW)
        self._origin_ns: int | None = None
        self._pts = -1
        self._seq = 0

    @property
    def format(self) -> InputFormat:
        """What the camera really delivers; known after ``probe`` or ``open``."""
        assert self._format is not None, "probe or open comes first"
        return self._format

    @property
    def audio(self) -> None:
        """Cameras have no sound here."""
        return None

    @property
    def measured_fps(self) -> float:
        """Frames a second over the last two seconds or so; 0 until there are two."""
        if len(self._arrivals) < 2:
            return 0.0
        return (len(self._arrivals) - 1) * NANOSECONDS / max(1, self._arrivals[-1] - self._arrivals[0])

    def probe(self) -> InputFormat:
        """Open the camera and wait for its first picture, to know the format before the graph is built."""
        if self._link is None:
            self._link = CameraLink(self._request, self._opener, self._clock)
            try:
                self._meet(self._link)
            except LiveFusionError:
                self.close()
                raise
        return self.format

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device from the next one on; the camera stays open."""
        self._device, self._pictures = device, pictures
        if self._decoder is not None:
            self._decoder.move(device, pictures)

    def open(self, context: StageContext) -> None:
        """Open the camera. ``DriverError`` if it cannot be, or gives no picture."""
        self._name, self._clock = context.name, context.clock
        delivered = self.probe()
        _log.info(
            "%s gives %s at %.4g fps, %s",
            delivered.uri,
            delivered.size,
            float(delivered.fps),
            delivered.note,
        )

    def read(self) -> Frame | Event:
        """The next frame or event, waiting for it; ``Eos`` once interrupted, and ever after."""
        if not self._queued and self._link is not None:
            self._advance(self._link)
        return self._queued.popleft() if self._queued and not self._is_over else Eos()

    @property
    def _is_over(self) -> bool:
        return self._duration is not None and self._pts * TIME_BASE >= self._duration

    def interrupt(self) -> None:
        """Make a blocked ``read`` return with ``Eos``."""
        link = self._link
        if link is not None:
            link.interrupt()

    def close(self) -> None:
        """Let the camera go."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        self._first = None
        self._queued.clear()

    def _meet(self, link: CameraLink) -> None:
        """Open the camera and learn from its first picture what it delivers."""
        capture = link.connect()
        if self._decoder is None:
            self._decoder = FrameDecoder(self._device, codec=capture.codec, pictures=self._pictures)
        self._first = link.take()
        if self._first is not None:
            self._decoder.adapt(self._first.picture)
        self._format = self._describe(capture, self._decoder)

    def _advance(self, link: CameraLink) -> None:
        """Put the next frame, and the events that precede it, into the queue; or one that says it is lost."""
        captured, self._first = self._first, None
        try:
            captured = captured or link.take()
        except DriverError as error:
            _log.warning("camera %s is lost: %s", self._request.device, error.problem)
            self._arrivals.clear()
            self._queued.append(Discontinuity("the camera is lost"))
            return
        if captured is not None and self._decoder is not None:
            if (change := self._decoder.adapt(captured.picture)) is not None:
                self._queued.append(change)
            self._queued.append(self._frame(self._decoder, captured))

    def _frame(self, decoder: FrameDecoder, captured: CapturedPicture) -> Frame:
        buffer = decoder.convert(captured.picture)
        self._arrivals.append(captured.captured_ns)
        if self._seq == 2 * _RATE_WINDOW:
            self._report_rate()
        ts = self._stamp(captured.captured_ns)
        seq, self._seq = self._seq, self._seq + 1
        return Frame(seq, self._name, ts, captured.captured_ns, decoder.size, decoder.color, buffer)

    def _report_rate(self) -> None:
        promised, measured = float(self.format.fps), self.measured_fps
        if measured < _SLOW * promised:
            _log.warning(
                "camera %s promised %.4g fps and gives %.1f: give it more light or ask for a smaller size",
                self._request.device,
                promised,
                measured,
            )

    def _stamp(self, captured_ns: int) -> Timestamp:
        if self._origin_ns is None:
            self._origin_ns = captured_ns
        ticks = (captured_ns - self._origin_ns) * CLOCK_RATE // NANOSECONDS
        self._pts = max(self._pts + 1, ticks)
        return Timestamp(self._pts, TIME_BASE)

    def _describe(self, capture: Capture, decoder: FrameDecoder) -> InputFormat:
        return InputFormat(
            uri=f"camera:{self._request.device}",
            size=decoder.size,
            fps=capture.fps,
            color=decoder.color,
            time_base=TIME_BASE,
            note=f"{capture.codec} through {capture.backend}",
        )
