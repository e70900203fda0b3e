"""What a source delivers and what a sink is opened for."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size


@dataclass(frozen=True, slots=True)
class InputFormat:
    """What an opened source delivers.

    ``size`` is that of the upright, even-sized pictures, whose pixels are ``pixel_aspect`` times as wide as
    high; ``rotation`` is how far, in degrees clockwise, the stored pictures were turned to get there.
    ``frames`` and ``duration`` (seconds) are what the container promises, None if it promises nothing.
    ``note`` says in words what was done to the input.
    """

    uri: str
    size: Size
    fps: Fraction
    color: ColorInfo
    time_base: Fraction
    pixel_aspect: Fraction = Fraction(1)
    rotation: int = 0
    frames: int | None = None
    duration: float | None = None
    has_audio: bool = False
    note: str = ""


class OpenAudio(Protocol):
    """The sound of an input while it is read; one reader."""

    @property
    def stream(self) -> Any:
        """The ``av.AudioStream`` that the packets belong to."""
        ...

    def until(self, seconds: float) -> Iterable[Any]:
        """The ``av.Packet`` that start before ``seconds`` of media time and were not given yet, in order."""
        ...

    def close(self) -> None:
        """Give back what opening took."""
        ...


class AudioFeed(Protocol):
    """Sound that belongs to a video, on the same media time. Each sink opens a reader of its own."""

    def open(self) -> OpenAudio | None:
        """A new reader, or None if there is no readable sound."""
        ...


@dataclass(frozen=True, slots=True)
class OutputLabel:
    """What outputs say of their pictures beside them, and who hears of a recording that is finished.

    ``notice`` goes into the stream with each key frame, ``tags`` (names and values) into files.
    """

    notice: bytes
    tags: tuple[tuple[str, str], ...]
    finished: Callable[[Path], None] = field(default=lambda path: None, compare=False)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """What a sink is opened for: later pictures of another size are fitted into this one."""

    size: Size
    fps: Fraction
    color: ColorInfo
    time_base: Fraction
    audio: AudioFeed | None = None
    pixel_aspect: Fraction = Fraction(1)
    label: OutputLabel | None = None

    @staticmethod
    def of(source: InputFormat, audio: AudioFeed | None = None) -> "OutputFormat":
        """The format in which the pictures of a source leave the graph."""
        return OutputFormat(
            source.size, source.fps, source.color, source.time_base, audio, source.pixel_aspect
        )
