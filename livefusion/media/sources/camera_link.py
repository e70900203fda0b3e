"""A camera that may go away and come back."""

import logging

from livefusion.core.errors import DriverError
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.media.sources.camera_thread import CameraThread, CapturedPicture
from livefusion.media.sources.capture import CameraOpener, CameraRequest, Capture
from livefusion.runtime.alarm import Alarm

_log = logging.getLogger(__name__)

# A webcam in a dark room goes down to 5 fps, and some take three seconds for the first picture.
_FIRST_PATIENCE_NS = 5 * NANOSECONDS
_PATIENCE_NS = 2 * NANOSECONDS
_FIRST_DELAY_NS = NANOSECONDS // 10
_LONGEST_DELAY_NS = 5 * NANOSECONDS


class CameraLink:
    """Opens a camera, and opens it again after it was lost, with delays from 0.1 to 5 s."""

    def __init__(self, request: CameraRequest, opener: CameraOpener, clock: Clock) -> None:
        self._request = request
        self._opener = opener
        self._clock = clock
        self._interrupted = Alarm(clock)
        self._thread: CameraThread | None = None
        self._patience_ns = _FIRST_PATIENCE_NS

    def connect(self) -> Capture:
        """Open the camera once. ``DriverError`` if it cannot be."""
        capture = self._opener(self._request)
        self._thread = CameraThread(capture, self._clock)
        self._patience_ns = _FIRST_PATIENCE_NS
        if self._interrupted.is_set:
            self._thread.stop()
        return capture

    def take(self) -> CapturedPicture | None:
        """The newest picture, waiting for it and for a lost camera to come back; None once interrupted.

        ``DriverError`` at the moment at which the camera is lost.
        """
        thread = self._thread or self._reconnect()
        if thread is None:
            return None
        try:
            captured = thread.take(self._patience_ns)
        except DriverError:
            self.close()
            raise
        self._patience_ns = _PATIENCE_NS
        return captured

    def interrupt(self) -> None:
        """Make a blocked ``take`` return, now and ever after."""
        self._interrupted.set()
        thread = self._thread
        if thread is not None:
            thread.stop()

    def close(self) -> None:
        """Let the camera go."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()

    def _reconnect(self) -> CameraThread | None:
        delay_ns = _FIRST_DELAY_NS
        while not self._interrupted.wait(delay_ns):
            try:
                self.connect()
            except DriverError as error:
                _log.debug("camera %s is still away: %s", self._request.device, error)
                delay_ns = min(2 * delay_ns, _LONGEST_DELAY_NS)
            else:
                _log.info("camera %s is open again", self._request.device)
                return self._thread
        return None
