"""What travels between the frames: in band, in order, and never dropped."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.core.trace import FrameTrace


@dataclass(frozen=True, slots=True)
class Event:
    """Base of the in-band events."""


@dataclass(frozen=True, slots=True)
class Eos(Event):
    """The source has ended; nothing follows."""


@dataclass(frozen=True, slots=True)
class Flush(Event):
    """Frames of an epoch before ``epoch`` are void."""

    epoch: int


@dataclass(frozen=True, slots=True)
class FormatChange(Event):
    """The frames that follow have this size and colour description."""

    size: Size
    color: ColorInfo


@dataclass(frozen=True, slots=True)
class SettingsSwap(Event):
    """The frames that follow are made with another immutable snapshot of the settings."""

    settings: Any


@dataclass(frozen=True, slots=True)
class Discontinuity(Event):
    """The picture or its time jumps here (a cut, a lost camera that came back): forget what you smoothed."""

    reason: str


@runtime_checkable
class Item(Protocol):
    """What stages hand to each other beside events: a frame, or something that wraps one."""

    @property
    def seq(self) -> int:
        """Strictly rising number within a source."""
        ...

    @property
    def epoch(self) -> int:
        """Epoch; items of an older one are void after a flush."""
        ...

    @property
    def captured_ns(self) -> int:
        """Monotonic time at which the frame was captured."""
        ...

    @property
    def trace(self) -> FrameTrace:
        """When each stage held the frame."""
        ...
