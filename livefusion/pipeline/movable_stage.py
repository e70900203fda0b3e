"""A stage that can change to another device while frames pass through it."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from livefusion.core.errors import LiveFusionError
from livefusion.core.events import Event
from livefusion.core.face import AnalysedFrame
from livefusion.core.frame import Frame
from livefusion.pipeline.recovery import Footing, Recovery, device_fault
from livefusion.runtime.stage import Drop, Stage, StageContext

InT = TypeVar("InT", bound=Frame | AnalysedFrame)
OutT = TypeVar("OutT")
REFUSED: Final = Drop("device")
"""What becomes of a picture that its own device can neither work on nor cover."""


class MovableStage(Generic[InT, OutT]):
    """Holds the real stage, made by ``make`` when it opens on another footing than it was made on before.

    A picture of another device than the stage's, or of one that is lost, is not touched: ``stand_in`` says
    what goes on in its place. One that the device can neither work on nor cover is dropped, because others
    may not touch what was begun in it, unless ``withholds`` says that ``stand_in`` has other pixels.
    Device errors take a step of ``recovery``; what it cannot help is raised.
    """

    def __init__(
        self,
        name: str,
        recovery: Recovery,
        make: Callable[[Footing], Stage[InT, OutT]],
        stand_in: Callable[[InT], OutT],
        *,
        withholds: bool = False,
    ) -> None:
        self._name = name
        self._recovery = recovery
        self._make = make
        self._stand_in = stand_in
        self._withholds = withholds
        self._stage: Stage[InT, OutT] | None = None
        self._footing: Footing | None = None
        self._device = ""
        self._spoilt = False
        self._is_open = False

    def open(self, context: StageContext) -> None:
        """Open the stage on the footing in force, or on the next one that bears it."""
        while True:
            footing = self._recovery.footing
            if self._spoilt or footing is not self._footing:
                self._let_go()
            try:
                self._open_on(footing, context)
            except LiveFusionError as error:
                self._spoilt = True
                if not self._recovery.meet(self._name, error, footing):
                    raise
            else:
                self._recovery.begun(self._name)
                return

    def process(self, item: InT) -> OutT | Drop:
        """What the stage makes of the item, if that is of its device."""
        stage, footing = self._stage, self._footing
        if stage is None or footing is not self._recovery.footing or _device_of(item) != self._device:
            return self.fallback(item, None)
        try:
            return stage.process(item)
        except LiveFusionError as error:
            if not self._recovery.meet(self._name, error, footing):
                raise
            self._spoilt = True
            return self.fallback(item, error)

    def fallback(self, item: InT, error: BaseException | None) -> OutT | Drop:
        """What the stage's own fallback makes of it, if it may touch it."""
        stage, device = self._stage, _device_of(item)
        if stage is None or device != self._device or self._recovery.is_lost(device):
            return self._stand_in(item)
        try:
            return stage.fallback(item, error)
        except LiveFusionError as second:
            if device_fault(second) is None:
                raise
            return self._stand_in(item) if self._withholds else REFUSED

    def handle(self, event: Event) -> None:
        """Tell the stage."""
        if self._stage is not None:
            self._stage.handle(event)

    def close(self) -> None:
        """Close the stage; a lost device has nothing to give back."""
        if self._stage is None or not self._is_open:
            return
        self._is_open = False
        try:
            self._stage.close()
        except LiveFusionError as error:
            self._spoilt = True
            if device_fault(error) is None:
                raise

    def _open_on(self, footing: Footing, context: StageContext) -> None:
        if self._stage is None:
            self._stage = self._make(footing)
            self._footing, self._device, self._spoilt = footing, footing.device.name, False
        self._is_open = True
        self._stage.open(context)

    def _let_go(self) -> None:
        """Drop the stage with all it holds, so that its memory is there for the next one."""
        self.close()
        self._stage = self._footing = None


def _device_of(item: Frame | AnalysedFrame) -> str:
    return (item if isinstance(item, Frame) else item.frame).buffer.device
