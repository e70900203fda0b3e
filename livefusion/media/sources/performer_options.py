"""What can be asked of the performer, as the query of a ``performer:`` address."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl

from livefusion.core.color import ColorInfo
from livefusion.core.errors import InputError
from livefusion.core.geometry import Size

SCHEME = "performer:"
SMALLEST_FACE = 24
# Of the picture's height: a taller face would leave the picture as it moves.
TALLEST_FACE = 0.8

_SIZE, _FPS, _FACE = Size(1280, 720), Fraction(30), 170


class Occluder(StrEnum):
    """What passes in front of the faces."""

    HAND = "hand"
    BAR = "bar"


@dataclass(frozen=True, slots=True)
class PerformerOptions:
    """The options of ``performer:?size=1280x720&face=170&…``.

    - ``size=WxH`` even picture size, at least 64x64; ``fps=N`` or ``fps=30000/1001``;
    - ``face=PIXELS`` height of the face from hairline to chin; ``faces=1|2``;
    - ``crossing=0|1`` two people walk past each other (implies ``faces=2``);
    - ``cut=FRAMES`` jump to another place each so many frames, 0 never;
    - ``occluder=hand|bar`` passes in front of the faces; ``expression=0|1`` blink and speak;
    - ``turn=0..75`` largest turn of the head to the side in degrees, half of it up and down;
    - ``grain=0..20`` sensor noise, amplitude in code values; ``seed=N`` chooses motion, place and light;
    - ``seconds=S`` ends after so long; ``loop=S`` makes everything repeat after S seconds without a seam.
    """

    size: Size = _SIZE
    fps: Fraction = _FPS
    face: int = _FACE
    faces: int = 1
    crossing: bool = False
    cut: int = 0
    occluder: Occluder | None = None
    expression: bool = True
    turn: int = 18
    grain: int = 2
    seed: int = 0
    seconds: float | None = None
    loop: float | None = None

    def __post_init__(self) -> None:
        if self.size != self.size.even or min(self.size.width, self.size.height) < 64:
            raise InputError(f"performer: cannot draw {self.size}", "use an even size of at least 64x64")
        if not SMALLEST_FACE <= self.face <= TALLEST_FACE * self.size.height:
            raise InputError(
                f"performer: cannot draw a face of {self.face} pixels into {self.size}",
                f"use face={SMALLEST_FACE} to face={int(TALLEST_FACE * self.size.height)}",
            )
        if self.crossing and self.faces == 1:
            object.__setattr__(self, "faces", 2)

    @property
    def color(self) -> ColorInfo:
        """Colour description of the pictures, which is what players assume of that size."""
        return ColorInfo.guess(self.size.height)

    @property
    def frames(self) -> int | None:
        """Number of frames, None if there is no end."""
        return None if self.seconds is None else round(self.seconds * self.fps)

    @staticmethod
    def parse(uri: str, *, size: Size | None = None, fps: Fraction | None = None) -> "PerformerOptions":
        """Read an address; a ``size`` and ``fps`` given here win over it.

        Unless the address says otherwise the face is 170 pixels high, or half the picture if that is less.
        ``InputError`` names the options if one is unknown or has a wrong value.
        """
        if not uri.startswith(SCHEME):
            raise InputError(f"{uri} is not the performer", f"use {SCHEME}?face=170")
        query = uri.removeprefix(SCHEME).lstrip("?")
        try:
            given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        except ValueError as error:
            raise InputError(f"{uri} is not readable", f"write it as {_example()}") from error
        values: dict[str, Any] = {}
        for name, text in given:
            if name not in _READERS:
                raise InputError(f"performer: has no option {name!r}", f"it has {', '.join(_READERS)}")
            values[name] = _read(name, text)
        values["size"] = size or values.get("size", _SIZE)
        values["fps"] = fps or values.get("fps", _FPS)
        values.setdefault("face", min(_FACE, values["size"].height // 2))
        return PerformerOptions(**values)


def _read(name: str, text: str) -> Any:
    reader, allowed = _READERS[name]
    try:
        return reader(text)
    except (ValueError, ZeroDivisionError) as error:
        raise InputError(f"performer: cannot use {name}={text}", f"use {allowed}") from error


def _size(text: str) -> Size:
    width, height = text.split("x")
    return Size(int(width), int(height))


def _fps(text: str) -> Fraction:
    return Fraction(_within(Fraction(text), 1, 240))


def _within(value: Any, low: float, high: float) -> Any:
    if not low <= value <= high:
        raise ValueError(f"{value} is not between {low} and {high}")
    return value


def _integer(low: int, high: int) -> Callable[[str], int]:
    return lambda text: int(_within(int(text), low, high))


def _duration(text: str) -> float:
    return float(_within(float(text), 0.1, 86_400))


def _switch(text: str) -> bool:
    return {"0": False, "1": True}[text] if text in "01" and text else bool(_within(-1, 0, 1))


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "size": (_size, "WxH, for example 1280x720"),
    "fps": (_fps, "1 to 240, also as a fraction"),
    "face": (_integer(1, 10_000), "a height in pixels"),
    "faces": (_integer(1, 2), "1 or 2"),
    "crossing": (_switch, "0 or 1"),
    "cut": (_integer(0, 1_000_000), "a number of frames, 0 for never"),
    "occluder": (Occluder, " or ".join(Occluder)),
    "expression": (_switch, "0 or 1"),
    "turn": (_integer(0, 75), "0 to 75 degrees"),
    "grain": (_integer(0, 20), "0 to 20"),
    "seed": (_integer(0, 2**32 - 1), "a whole number"),
    "seconds": (_duration, "0.1 to 86400"),
    "loop": (_duration, "0.1 to 86400"),
}
assert set(_READERS) == {field.name for field in fields(PerformerOptions)}


def _example() -> str:
    return f"{SCHEME}?size=1280x720&fps=30&face=170"
