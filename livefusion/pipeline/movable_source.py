"""A source whose pictures can come to lie on another device while it runs."""

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

from livefusion.core.errors import DeviceError
from livefusion.core.events import Eos
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback, fallbacks_of
from livefusion.media.formats import AudioFeed, InputFormat
from livefusion.pipeline.ends import PictureSource
from livefusion.pipeline.recovery import Footing, Recovery
from livefusion.runtime.alarm import Alarm
from livefusion.runtime.backoff import FailureLog, RestartPolicy
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)
T = TypeVar("T")
NAME: Final = "decode"


class MovableSource:
    """Holds the real source and has it ``move`` when the footing changes; the input stays where it is.

    A picture for which there is no memory is lost. If nothing helps, a ``patient`` source tries again for
    ever, with back-off, because something is being watched live; another one raises when it is degraded.
    """

    def __init__(
        self,
        recovery: Recovery,
        make: Callable[[Device], PictureSource],
        *,
        patient: bool,
        restarts: RestartPolicy | None = None,
    ) -> None:
        self._recovery = recovery
        self._patient = patient
        self._footing: Footing | None = recovery.footing
        self._source = make(recovery.device)
        self._clock: Clock = SystemClock()
        self._failures = FailureLog(restarts or RestartPolicy())
        self._stop: Alarm | None = None
        self._interrupted = False
        self._told = False

    @property
    def format(self) -> InputFormat:
        """What the source delivers."""
        return self._source.format

    @property
    def audio(self) -> AudioFeed | None:
        """The sound of the input."""
        return self._source.audio

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What the source does otherwise than it best would."""
        return fallbacks_of(self._source)

    def probe(self) -> InputFormat:
        """The format; raises what the device says if the run may not begin elsewhere."""
        return self._begin(self._source.probe)

    def open(self, context: StageContext) -> None:
        """Open the source."""
        self._clock = context.clock
        self._stop = Alarm(context.clock)
        if self._interrupted:
            self._stop.set()
        self._begin(lambda: self._source.open(context))
        self._recovery.begun(NAME)

    def read(self) -> Any:
        """The next entry, on the device in force."""
        while True:
            footing = self._recovery.footing
            try:
                if footing is not self._footing:
                    self._move(footing)
                return self._source.read()
            except DeviceError as error:
                self._footing = None  # whatever it holds there is of no use any more
                if not self._recovery.meet(NAME, error, footing) and self._rests_until_interrupted(error):
                    return Eos()

    def interrupt(self) -> None:
        """Make a blocked ``read`` return."""
        self._interrupted = True
        if self._stop is not None:
            self._stop.set()
        self._source.interrupt()

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def _begin(self, work: Callable[[], T]) -> T:
        while True:
            footing = self._recovery.footing
            try:
                if footing is not self._footing:
                    self._move(footing)
                return work()
            except DeviceError as error:
                self._footing = None
                if not self._recovery.meet(NAME, error, footing):
                    raise

    def _move(self, footing: Footing) -> None:
        self._source.move(footing.device, footing.pictures)
        self._footing = footing

    def _rests_until_interrupted(self, error: DeviceError) -> bool:
        """Wait before the next try; raises the error if there shall be none."""
        now_ns = self._clock.now_ns()
        retry_ns = self._failures.failed(now_ns)
        if self._stop is None or (not self._patient and self._failures.degraded(now_ns)):
            raise error
        if not self._told:
            _log.error("%s; it is tried again until it works", error)
            self._told = True
        return self._stop.wait_until(retry_ns)
