"""What the registry says about a file, and how the file is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .wheels import WheelStore

SCHEMA = "livefusion.models/1"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Contract of one input or output: an axis that is a word is chosen at run time."""

    name: str
    shape: tuple[int | str, ...]
    meaning: str
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One file of `models/`: its registry entry and the function that makes its bytes."""

    name: str
    role: str
    file: str
    licence: str
    source: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    make: Callable[[WheelStore], bytes]


def entry(recipe: Recipe, content: bytes) -> str:
    """Return the `[[model]]` table of one built file."""
    lines = [
        "[[model]]",
        f"name = {_quoted(recipe.name)}",
        f"role = {_quoted(recipe.role)}",
        f"file = {_quoted(recipe.file)}",
        f'sha256 = "{hashlib.sha256(content).hexdigest()}"',
        f"bytes = {len(content)}",
        f"licence = {_quoted(recipe.licence)}",
        f"source = {_quoted(recipe.source)}",
        *_tensors("inputs", recipe.inputs),
        *_tensors("outputs", recipe.outputs),
    ]
    return "\n".join(lines) + "\n"


def registry(entries: Iterable[str]) -> bytes:
    """Return the whole `registry.toml`."""
    head = (
        f"# Written by tools/build_models.py: change the recipe, not this file.\nschema = {_quoted(SCHEMA)}\n"
    )
    return "\n".join([head, *entries]).encode()


def _tensors(key: str, tensors: tuple[Tensor, ...]) -> list[str]:
    if not tensors:
        return [f"{key} = []"]
    rows = [
        f"    {{ name = {_quoted(tensor.name)}, dtype = {_quoted(tensor.dtype)}, "
        f"shape = {json.dumps(list(tensor.shape))}, meaning = {_quoted(tensor.meaning)} }},"
        for tensor in tensors
    ]
    return [f"{key} = [", *rows, "]"]


def _quoted(text: str) -> str:
    # A JSON string without control characters is a TOML basic string.
    return json.dumps(text, ensure_ascii=False)
