"""What our code uses of a foreign library, read from its source: chains of names, and how they are called."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Chain = tuple[str, ...]
"""Names from the library's own down, as ``("cupy", "cuda", "runtime", "setDevice")``."""


@dataclass(frozen=True)
class Call:
    """Arguments by position, at least, and by name; ``more`` if there may be others."""

    positional: int
    names: tuple[str, ...]
    more: bool


@dataclass(frozen=True)
class Use:
    """One mention of a name of the library."""

    place: str
    chain: Chain
    call: Call | None

    def __str__(self) -> str:
        return f"{self.place}: {'.'.join(self.chain)}"


def uses(folder: Path, library: str, known: Mapping[str, Chain]) -> list[Use]:
    """Every use in the modules of a folder; ``known`` names what holds parts of the library."""
    found = []
    for path in sorted(folder.glob("**/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # Attributes, of whatever object, are told from variables by a dot.
        names = dict(known) | {f".{name}": chain for name, chain in known.items()}
        names |= dict(_imported(tree, library))
        names |= dict(_assigned(tree, names))
        place = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        found += _of_tree(tree, names, place)
    return found


def _imported(tree: ast.AST, library: str) -> Iterator[tuple[str, Chain]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == library or alias.name.startswith(f"{library}."):
                    chain = tuple(alias.name.split("."))
                    yield (alias.asname, chain) if alias.asname else (chain[0], chain[:1])
        elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{library}."):
            for alias in node.names:
                yield alias.asname or alias.name, (*str(node.module).split("."), alias.name)


def _assigned(tree: ast.AST, names: Mapping[str, Chain]) -> Iterator[tuple[str, Chain]]:
    """Variables and attributes that are set to nothing but a part of the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for left, right in _pairs(target, node.value):
                    if chain := _chain(right, names):
                        yield (
                            (f".{left.attr}" if isinstance(left, ast.Attribute) else ast.unparse(left)),
                            chain,
                        )


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def _chain(node: ast.expr, names: Mapping[str, Chain]) -> Chain:
    """The chain that an expression names; empty if it is none of the library."""
    if isinstance(node, ast.Name):
        return names.get(node.id, ())
    if isinstance(node, ast.Call):  # of a function without arguments that gives the library
        return names.get(ast.unparse(node), ()) if isinstance(node.func, ast.Name) else ()
    if not isinstance(node, ast.Attribute):
        return ()
    before = _chain(node.value, names)
    return (*before, node.attr) if before else names.get(f".{node.attr}", ())


def _of_tree(tree: ast.AST, names: Mapping[str, Chain], place: str) -> Iterator[Use]:
    called = {id(node.func): _call(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    # Of ``cupy.cuda.Stream`` the whole counts, not ``cupy.cuda`` too; walk() gives the whole first.
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            chain = _chain(node, names)
            if isinstance(node, ast.Attribute) and chain:
                parts.add(id(node.value))
            if len(chain) > 1 and id(node) not in parts:
                yield Use(f"{place}:{node.lineno}", chain, called.get(id(node)))


def _call(node: ast.Call) -> Call:
    positional = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    names = tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None)
    more = len(positional) < len(node.args) or len(names) < len(node.keywords)
    return Call(len(positional), names, more)
