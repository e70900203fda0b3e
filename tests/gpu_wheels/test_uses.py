"""The reader of uses itself: what our code gets wrong about a library, it finds."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from signatures import Signature, fault, signatures
from uses import uses

pytestmark = pytest.mark.unit


def copy(dst: int, src: int, size: int = 0, *, stream: int = 0) -> None:
    """Plain Python."""


class Native:
    """Native(int size, owner, str name='a, (b)', *, tuple options=())"""

    __signature__ = 0  # nothing that inspect could read


class Bound:
    """make(*args, **kwargs)
    Overloaded function.

    1. make(size: int, name: dict[str, int] = {}) -> Bound

    Longer words about (everything).

    2. make(size: int, name: str, **kwargs) -> Bound
    """

    __signature__ = 0  # nothing that inspect could read
    __name__ = "make"

    def __call__(self) -> None: ...


LIBRARY = SimpleNamespace(cuda=SimpleNamespace(copy=copy, Native=Native, make=Bound(), FLAG=1))


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("import lib\nlib.cuda.copy(1, 2, stream=3)\nlib.cuda.FLAG", []),
        ("import lib\nlib.cuda.copi(1, 2)", ["lib.cuda.copi does not exist"]),
        ("import lib as l\nl.cuda.FLAGS", ["lib.cuda.FLAGS does not exist"]),
        ("from lib import cuda as c\nc.copy(1)", ["lib.cuda.copy does not take"]),
        ("from lib.cuda import copy\ncopy(1, 2, 3, 4)", ["lib.cuda.copy does not take"]),
        ("import lib\nlib.cuda.copy(1, 2, streem=3)", ["lib.cuda.copy does not take"]),
        ("import lib\nlib.cuda.copy(1, *rest)\nlib.cuda.copy(1, 2, 3, 4, *rest)", ["lib.cuda.copy does not"]),
        ("def f(held):\n    held.copy(1, 2)\n    held.fold()", ["lib.cuda.fold does not exist"]),
        ("class A:\n    def f(self):\n        self._held.nix\n        other._held.copy(1)", ["nix", "copy"]),
        ("import lib\nself.send = lib.cuda.copy\nself.send(1)", ["lib.cuda.copy does not take"]),
        ("a, b = held.copy, held.FLAG\na(1, 2)\na(1)", ["lib.cuda.copy does not take"]),
        ("load().cuda.FLAG\nmine = load()\nmine.cuda.FLAGS", ["lib.cuda.FLAGS does not exist"]),
        ("import lib\nlib.cuda.Native(1, None)\nlib.cuda.Native(1, 2, 'x', options=())", []),
        ("import lib\nlib.cuda.Native(1)", ["lib.cuda.Native does not take"]),
        ("import lib\nlib.cuda.Native(1, 2, 'x', ())", ["lib.cuda.Native does not take"]),
        ("import lib\nlib.cuda.make(1)\nlib.cuda.make(1, 'x', anything=2)", []),
        ("import lib\nlib.cuda.make(1, anything=2)", ["lib.cuda.make does not take"]),
        ("import lib\nlib.cuda.FLAG()", ["lib.cuda.FLAG does not take"]),
    ],
)
def test_faults_are_found(source: str, faults: list[str], tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(source)
    known = {"held": ("lib", "cuda"), "_held": ("lib", "cuda"), "load()": ("lib",)}
    found = [message for use in uses(tmp_path, "lib", known) if (message := fault(LIBRARY, use))]
    assert len(found) == len(faults), found
    assert all(expected in message for expected, message in zip(faults, found, strict=True))


@pytest.mark.parametrize("target", [Native, Bound()])
def test_a_docstring_tells_the_signature(target: Any) -> None:
    ways = signatures(target)
    if target is Native:
        assert ways == [Signature(("size", "owner", "name", "options"), 3, ("size", "owner"))]
    else:
        assert [way.required for way in ways] == [("size",), ("size", "name")]
