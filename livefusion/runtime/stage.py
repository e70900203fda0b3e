"""What a stage is: the part of the graph that people write, one thread each."""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from livefusion.core.events import Event
from livefusion.core.timing import Clock

InT_contra = TypeVar("InT_contra", contravariant=True)
OutT_co = TypeVar("OutT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Drop:
    """A stage's answer for an item that goes no further; ``cause`` is what the report counts it under."""

    cause: str


@dataclass(frozen=True, slots=True)
class StageContext:
    """What a stage is given when it is opened."""

    name: str
    clock: Clock


class Stage(Protocol, Generic[InT_contra, OutT_co]):
    """A step on the path of a frame.

    All five methods are called on the stage's own thread, and ``open`` before anything else. ``process`` and
    ``fallback`` give the item that goes on, or ``Drop``. When ``process`` raises, the supervisor asks
    ``fallback`` for something safe to show instead, closes the stage and opens it again after a back-off;
    until then every item goes through ``fallback``, which must not need what ``open`` made and must be safe
    after a ``process`` that failed half-way.

    ``open`` starts afresh and warms up, so that the first item takes no longer than the others. Events are
    not handled while the stage is down; after it was opened again it is given the last ``FormatChange`` and
    the last ``SettingsSwap`` once more. ``Graph.renew`` has a stage that is well closed and opened in the
    same way, but at once. A stage that holds an item longer than the stall limit is abandoned: another
    instance takes its place on another thread, and what the first one gives back later is ignored.
    """

    def open(self, context: StageContext) -> None:
        """Get what the stage needs."""
        ...

    def process(self, item: InT_contra) -> OutT_co | Drop:
        """Turn an item into the next one."""
        ...

    def fallback(self, item: InT_contra, error: BaseException | None) -> OutT_co | Drop:
        """What to send on while the stage is down; ``error`` is what brought it down with this very item."""
        ...

    def handle(self, event: Event) -> None:
        """Take note of an in-band event; the runtime passes it on afterwards."""
        ...

    def close(self) -> None:
        """Give back what ``open`` took; also called after a failure, and never twice in a row."""
        ...


class Source(Protocol):
    """Where items come from. Called on one thread; ``interrupt`` may come from any other."""

    def open(self, context: StageContext) -> None:
        """Open the input. ``InputError`` or ``DriverError`` if it cannot be."""
        ...

    def read(self) -> Any:
        """The next item or ``Event``, waiting for it; ``Eos`` at the end and ever after."""
        ...

    def interrupt(self) -> None:
        """Make a blocked ``read`` return soon, with ``Eos``."""
        ...

    def close(self) -> None:
        """Give back what ``open`` took."""
        ...


class Sink(Protocol, Generic[InT_contra]):
    """Where items go. All methods are called on the sink's own thread, and ``open`` before anything else.

    ``Eos`` is handled before ``close``, also when the graph is stopped early. A sink that raises never stops
    another one.
    """

    def open(self, context: StageContext) -> None:
        """Open the output. ``OutputError`` or ``DriverError`` if it cannot be."""
        ...

    def write(self, item: InT_contra) -> None:
        """Take one item; sequence numbers and media times strictly rise."""
        ...

    def handle(self, event: Event) -> None:
        """Take note of an in-band event."""
        ...

    def close(self) -> None:
        """Finish the output and give back what ``open`` took; never twice in a row."""
        ...
