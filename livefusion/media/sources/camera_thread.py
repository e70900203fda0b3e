"""The thread that waits for a camera, so that nobody else hangs with a driver that does."""

import threading
from dataclasses import dataclass
from typing import Any

from livefusion.core.errors import DriverError
from livefusion.core.timing import Clock
from livefusion.media.sources.capture import Capture


@dataclass(frozen=True, slots=True, eq=False)
class CapturedPicture:
    """An ``av.VideoFrame`` and the monotonic time it was captured at."""

    picture: Any
    captured_ns: int


class CameraThread:
    """Reads an open camera into one slot: the newest picture wins, what it replaces is counted.

    Drivers block without an end when a camera stalls. Then only this thread hangs: ``take`` runs out of
    patience, and the thread is left behind.
    """

    def __init__(self, capture: Capture, clock: Clock) -> None:
        self._capture = capture
        self._clock = clock
        self._changed = threading.Condition()
        self._slot: CapturedPicture | None = None
        self._failure: DriverError | None = None
        self._stopped = False
        self.replaced = 0
        self._thread = threading.Thread(target=self._run, name="camera", daemon=True)
        self._thread.start()

    def take(self, patience_ns: int) -> CapturedPicture | None:
        """The newest picture, waiting for it; None if stopped.

        ``DriverError`` if the camera is gone, or gives nothing for so long.
        """
        deadline = self._clock.now_ns() + patience_ns
        with self._changed:
            while self._slot is None and self._failure is None and not self._stopped:
                left = deadline - self._clock.now_ns()
                if left <= 0:
                    raise DriverError("the camera gives no pictures", "plug it in again")
                self._clock.wait(self._changed, left)
            if self._stopped:
                return None
            if self._slot is None and self._failure is not None:
                raise self._failure
            picture, self._slot = self._slot, None
            return picture

    def stop(self) -> None:
        """Let ``take`` return, and the camera go as soon as its driver answers."""
        with self._changed:
            self._stopped = True
            self._slot = None
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while not self._stopped:
                picture, captured_ns = self._capture.read()
                self._put(CapturedPicture(picture, captured_ns or self._clock.now_ns()))
        except DriverError as error:
            self._fail(error)
        except Exception as error:  # border: whatever a driver raises ends the capture, never silently
            self._fail(DriverError(f"the camera failed ({error})", "plug it in again"))
        finally:
            self._capture.close()

    def _put(self, captured: CapturedPicture) -> None:
        with self._changed:
            self.replaced += self._slot is not None
            self._slot = captured
            self._changed.notify_all()

    def _fail(self, error: DriverError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()
