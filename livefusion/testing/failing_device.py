"""A device on which chosen launches fail, to see what the graph does then."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from livefusion.core.errors import GraphError
from livefusion.devices.device import Device, Operator, Stream


class FailingDevice:
    """Passes everything on to another device, but ``launch`` raises for some of its calls.

    ``fails`` holds (name of an operator, number of its launch counted from 0). The error is one of the stage
    and not of the device, which would make the graph change to another one.
    """

    def __init__(self, device: Device, fails: Collection[tuple[str, int]]) -> None:
        self._device = device
        self._fails = frozenset(fails)
        self._launched: Counter[str] = Counter()

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the operator, or fail."""
        number = self._launched[operator.name]
        self._launched[operator.name] += 1
        if (operator.name, number) in self._fails:
            raise GraphError(f"launch {number} of {operator.name} was to fail")
        self._device.launch(operator, arguments, stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)
