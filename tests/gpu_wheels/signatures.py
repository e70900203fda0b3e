"""How a foreign callable may be called; Cython and pybind11 tell it only in the docstring."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from uses import Call, Use

_HEAD = re.compile(r"^(?:\d+\. )?(\w+(?:\.\w+)*)\(", re.MULTILINE)


@dataclass(frozen=True)
class Signature:
    """The names of the arguments, how many may come by position, and what must come."""

    names: tuple[str, ...]
    positional: int
    required: tuple[str, ...]
    any_names: bool = False

    def takes(self, call: Call) -> bool:
        """Whether a call fits."""
        if call.positional > self.positional:
            return False
        if not self.any_names and not set(call.names) <= set(self.names):
            return False
        given = set(self.names[: call.positional]) | set(call.names)
        return call.more or set(self.required) <= given


def signatures(target: Any) -> list[Signature]:
    """Every way to call something; empty where nothing is told."""
    try:
        told = _of_inspect(inspect.signature(target))
    except (TypeError, ValueError):
        return _of_docstring(target)
    if told.any_names:  # a wrapper that takes everything: what it wraps is told in words, if at all
        return _of_docstring(target) or [told]
    return [told]


def fault(library: Any, use: Use) -> str | None:
    """What is wrong with a use, in words."""
    target = library
    for name in use.chain[1:]:
        if not hasattr(target, name):
            return f"{use} does not exist"
        target = getattr(target, name)
    if use.call is None:
        return None
    ways = signatures(target)
    if not callable(target) or (ways and not any(way.takes(use.call) for way in ways)):
        return f"{use} does not take {use.call}, but {ways}"
    return None


def _of_inspect(told: inspect.Signature) -> Signature:
    kinds = inspect.Parameter
    names, positional, required, any_names = [], 0, [], False
    for parameter in told.parameters.values():
        if parameter.kind is kinds.VAR_KEYWORD:
            any_names = True
        elif parameter.kind is kinds.VAR_POSITIONAL:
            positional = 1 << 30
        else:
            names.append(parameter.name)
            positional += parameter.kind is not kinds.KEYWORD_ONLY
            if parameter.default is kinds.empty:
                required.append(parameter.name)
    return Signature(tuple(names), positional, tuple(required), any_names)


def _of_docstring(target: Any) -> list[Signature]:
    text, name = inspect.getdoc(target) or "", getattr(target, "__name__", "")
    found: list[Signature] = []
    for head in _HEAD.finditer(text):
        if head[1].rpartition(".")[2] in {name, "__init__"}:
            parameters = _split(text[head.end() :])
            if parameters != ["*args", "**kwargs"]:  # pybind11 begins a list of overloads so
                found.append(_of_parameters(parameters))
    return found


def _split(text: str) -> list[str]:
    """The parameters before the bracket that closes the list."""
    parts, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == "'"
        if character in ")]}>" and not quoted:
            if depth == 0:
                break
            depth -= 1
        depth += character in "([{<" and not quoted
        if character == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _of_parameters(parameters: list[str]) -> Signature:
    names: list[str] = []
    required: list[str] = []
    positional, keyword_only, any_names = 0, False, False
    for parameter in parameters:
        if parameter == "/":
            continue
        if parameter.startswith("**"):
            any_names = True
        elif parameter.startswith("*"):
            keyword_only, positional = True, positional if parameter == "*" else 1 << 30
        else:
            declared, _, default = parameter.partition("=")
            name = declared.partition(":")[0].split()[-1]  # `int size` in Cython, `size: int` in pybind11
            names.append(name)
            positional += not keyword_only
            if not default:
                required.append(name)
    return Signature(tuple(names), positional, tuple(required), any_names)
