"""The places in the source where somebody waits for work of a device, each with a stable name."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).parents[1]
_TESTING = str(PACKAGE / "testing")
_PARTS = ("faces", "swap", "blend", "pipeline", "media", "devices", "inference", "provenance")
# A call of one of these names with so many arguments waits, or makes the next user of a slot wait.
# The ``wait`` of a condition or a clock takes none or two.
_WAITS = {"wait": 1, "synchronize": 0, "read_until": 2}
_OTHER_RECEIVERS = {"_graph", "_interrupted"}


FOREIGN = ":?"
"""End of the name of a place that calls a stand-in for a library, which waits by itself."""


@dataclass(frozen=True, slots=True)
class WaitSite:
    """One call that waits: the ``index``-th of its function, in the order of the source."""

    path: str
    function: str
    index: int
    line: int
    end: int
    by_host: bool

    @property
    def name(self) -> str:
        """For example ``faces/detect.py:LiveDetector.shrink:1``: it stays when lines move."""
        return f"{self.path}:{self.function}:{self.index}"


@cache
def sites_in_source() -> tuple[WaitSite, ...]:
    """Every place where code of the graph waits, whether it is ever reached or not.

    What is below the interface of the device (``devices/cuda``) waits on CUDA itself, not through it. Call
    this before threads of the graph run: two of them at once in ``ast.parse`` of CPython 3.11 fail.
    """
    files = (file for part in _PARTS for file in sorted((PACKAGE / part).rglob("*.py")))
    return tuple(site for file in files if "cuda" not in file.parts for site in sites_of(file))


def calling_site() -> str:
    """Name of the place that waits now: the innermost frame of the product; empty outside of it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(str(PACKAGE)) and not file.startswith(_TESTING):
            return _name_at(file, frame.f_code.co_qualname, frame.f_lineno)
        frame = frame.f_back
    return ""


@cache
def sites_of(file: Path) -> tuple[WaitSite, ...]:
    """The places in one file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    path = file.relative_to(PACKAGE).as_posix()
    counts: dict[str, int] = {}
    sites = []
    for function, call in _calls(tree, ""):
        if not _waits(call):
            continue
        index = counts[function] = counts.get(function, -1) + 1
        by_host = isinstance(call.func, ast.Attribute) and call.func.attr == "synchronize"
        sites.append(WaitSite(path, function, index, call.lineno, call.end_lineno or call.lineno, by_host))
    return tuple(sites)


@cache
def _name_at(file: str, qualified: str, line: int) -> str:
    function, path = qualified.replace(".<locals>", ""), Path(file).relative_to(PACKAGE).as_posix()
    for site in sites_in_source():
        if (site.path, site.function) == (path, function) and site.line <= line <= site.end:
            return site.name
    return f"{path}:{function}{FOREIGN}"


def _calls(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _calls(child, f"{scope}.{child.name}".lstrip("."))
            continue
        if isinstance(child, ast.Call):
            yield scope, child
        yield from _calls(child, scope)


def _waits(call: ast.Call) -> bool:
    target = call.func
    if not isinstance(target, ast.Attribute) or _WAITS.get(target.attr) != len(call.args) or call.keywords:
        return False
    return not (isinstance(target.value, ast.Attribute) and target.value.attr in _OTHER_RECEIVERS)
