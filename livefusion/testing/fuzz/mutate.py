"""Damage by a seed: the same number gives the same mutant on every machine."""

import random
from collections.abc import Callable, Sequence
from typing import Final

_NUMBERS: Final = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_WORDS: Final = (
    *(
        b"",
        b" ",
        b"\0",
        b"\n",
        b"\r\n",
        b"-1",
        b"0",
        b"9" * 30,
        b"1e999",
        b"NaN",
        b"null",
        b"{}",
        b"[]",
        b'""',
    ),
    *("é".encode(), b"\xff\xfe", b"%s%n", b"../" * 8, b"[" * 300, b"{" * 300, b'{"a":' * 300, b"x" * 3000),
)
_MOST = 12


def mutant(seeds: Sequence[bytes], name: str, number: int, *, text: bool) -> bytes:
    """The mutant of that number: one of the seeds, damaged in one place or several."""
    chance = random.Random(f"{name}:{number}")
    data = bytearray(chance.choice(seeds))
    ways = _TEXT if text else _BINARY
    # Most mutants with little damage: they get further into a parser.
    for _ in range(min(_MOST, 1 + int(chance.expovariate(0.5)))):
        chance.choice(ways)(data, chance, seeds)
    return bytes(data)


def _flip(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    place = chance.randrange(len(data) + 1)
    size = chance.choice((1, 2, 4, 8))
    number = chance.choice(_NUMBERS) & ((1 << 8 * size) - 1)
    data[place : place + size] = number.to_bytes(size, chance.choice(("big", "little")))


def _noise(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    place, size = chance.randrange(len(data) + 1), chance.randint(1, 64)
    data[place : place + size] = chance.randbytes(size)


def _truncate(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _cut(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    place = chance.randrange(len(data) + 1)
    del data[place : place + chance.choice((1, 4, 64, 1024))]


def _double(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    place, size = chance.randrange(len(data) + 1), chance.choice((1, 4, 64, 1024))
    data[place:place] = data[place : place + size]


def _splice(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    other = chance.choice(seeds)
    data[chance.randrange(len(data) + 1) :] = other[chance.randrange(len(other) + 1) :]


def _word(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    place = chance.randrange(len(data) + 1)
    data[place : place + chance.choice((0, 1, 8))] = chance.choice(_WORDS)


def _lines(data: bytearray, chance: random.Random, seeds: Sequence[bytes]) -> None:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(one, lines[other])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            lines[one:one] = [lines[other]] * 200
    data[:] = b"".join(lines)


_Way = Callable[[bytearray, random.Random, Sequence[bytes]], None]
_BINARY: Final[tuple[_Way, ...]] = (
    _flip,
    _flip,
    _overwrite,
    _overwrite,
    _noise,
    _truncate,
    _cut,
    _double,
    _splice,
)
_TEXT: Final[tuple[_Way, ...]] = (_flip, _truncate, _cut, _double, _splice, _word, _word, _lines, _lines)
