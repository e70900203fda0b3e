"""What stands before an output and keeps a lost device away from it."""

from livefusion.core.errors import DeviceError, DeviceLostError
from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.pipeline.recovery import Recovery
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.witness import Witness
from livefusion.runtime.stage import StageContext


class SinkGuard:
    """Shows the slate in place of a picture that cannot be read any more.

    A sink that fails even with that, which lies in host memory, fails for its own reasons: it is raised.
    """

    def __init__(self, name: str, sink: Witness, recovery: Recovery, slates: SlateShelf) -> None:
        self._name = name
        self._sink = sink
        self._recovery = recovery
        self._slates = slates

    def open(self, context: StageContext) -> None:
        """Open the sink."""
        self._sink.open(context)
        self._recovery.begun(self._name)

    def write(self, item: RenderedFrame) -> None:
        """Hand the picture on, or the slate with its numbers."""
        footing, device = self._recovery.footing, item.frame.buffer.device
        if not self._recovery.is_lost(device):
            try:
                self._sink.write(item)
                return
            except DeviceError as error:
                if device == footing.device.name:
                    self._recovery.meet(self._name, error, footing)
                elif isinstance(error, DeviceLostError):
                    self._recovery.lose(device)
        # Not the slate of the device in force, which may still be the lost one.
        self._sink.write(self._slates.host_like(item))

    def handle(self, event: Event) -> None:
        """Tell the sink."""
        self._sink.handle(event)

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()
