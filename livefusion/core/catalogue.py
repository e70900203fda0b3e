"""Every setting with its name, meaning and limits, read from the model: what flags, TOML keys, controls and
the reference page are made of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from livefusion.core.settings import Settings
from livefusion.core.words import either

Kind = Literal["text", "number", "whole number", "switch", "choice", "list"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: ``path`` leads to it in the model, ``allowed`` says which values it takes."""

    path: tuple[str, ...]
    kind: Kind
    meaning: str
    allowed: str
    choices: tuple[str, ...]
    default: Any

    @property
    def key(self) -> str:
        """Name in a configuration file, for example ``faces.detect_every``."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """Name on the command line, for example ``--detect-every``."""
        return "--" + self.path[-1].replace("_", "-")


@cache
def settings_schema() -> dict[str, Any]:
    """The JSON schema of the settings."""
    return Settings.model_json_schema()


@cache
def catalogue() -> tuple[Setting, ...]:
    """Every setting, in the order in which the model states them."""
    schema = settings_schema()
    return tuple(_walk((), schema, schema["$defs"]))


def group_meaning(name: str) -> str:
    """The doc line of a group of settings, for example ``faces``."""
    schema = settings_schema()
    return _one_line(_resolved(schema["properties"][name], schema["$defs"])["description"])


def _walk(path: tuple[str, ...], schema: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Setting]:
    for name, field in schema["properties"].items():
        value = _resolved(field, shared)
        if "properties" in value:
            yield from _walk((*path, name), value, shared)
        else:
            yield _setting((*path, name), field, value)


def _resolved(field: Mapping[str, Any], shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the value itself: behind a reference, and without the None of an optional field."""
    for choice in field.get("anyOf", ()):
        if choice.get("type") != "null":
            return _resolved(choice, shared)
    if "$ref" in field:
        value: Mapping[str, Any] = shared[field["$ref"].rsplit("/", 1)[1]]
        return value
    return field


def _setting(path: tuple[str, ...], field: Mapping[str, Any], value: Mapping[str, Any]) -> Setting:
    choices = tuple(value.get("enum", ()))
    kind = _kind(value)
    return Setting(
        path, kind, _one_line(field["description"]), _allowed(kind, value), choices, field.get("default")
    )


def _kind(value: Mapping[str, Any]) -> Kind:
    if "enum" in value:
        return "choice"
    kinds: dict[str, Kind] = {
        "boolean": "switch",
        "integer": "whole number",
        "number": "number",
        "array": "list",
    }
    return kinds.get(value["type"], "text")


def _allowed(kind: Kind, value: Mapping[str, Any]) -> str:
    if "allowed" in value:
        return str(value["allowed"])
    if kind == "choice":
        return either(value["enum"])
    if kind == "switch":
        return "true or false"
    if kind in {"number", "whole number"}:
        return f"a {kind}{_limits(value)}"
    return "a list of texts" if kind == "list" else "text"


def _limits(value: Mapping[str, Any]) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    above, below = value.get("exclusiveMinimum"), value.get("exclusiveMaximum")
    parts = [
        f"{word} {limit:g}"
        for word, limit in (("from", low), ("above", above), ("up to", high), ("below", below))
        if limit is not None
    ]
    return f" {' and '.join(parts)}" if parts else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
