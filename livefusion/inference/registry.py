"""The models that ship: one entry a file in `registry.toml`, each with its sha256 and tensor contract."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from livefusion.core.errors import ModelError

SCHEMA = "livefusion.models/1"
REGISTRY_FILE = "registry.toml"
MODELS_VARIABLE = "LIVEFUSION_MODELS"

_DIM_VALUE, _NO_FIELD = 0x08, 0x20

_RESTORE = "restore it with `git checkout models` or reinstall livefusion"
_FIND = f"reinstall livefusion or set {MODELS_VARIABLE} to the folder that has it"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Contract of one input or output.

    An axis that is a word is chosen at run time; `meaning` states units, range and channel order.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    meaning: str

    @property
    def is_static(self) -> bool:
        """Tell whether every axis is a number."""
        return all(isinstance(axis, int) for axis in self.shape)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One file of the registry, or of the user's.

    ``loosened`` are places in the file where a size of an output stands that need not be so: exports of
    networks for pictures of any size often state those of one. ONNX Runtime would refuse buffers of others.
    ``computes`` is the float type inside, if it is known. ``widened`` has a network in halves run in float32,
    and says why.
    """

    name: str
    role: str
    path: Path
    sha256: str
    size_bytes: int
    licence: str
    source: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    loosened: tuple[int, ...] = ()
    computes: str = ""
    widened: str = ""

    def read(self) -> bytes:
        """Return the file's content, which is the registered one but for what is loosened or widened.

        Raises ModelError when the file is missing, unreadable or not the registered one.
        """
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise self._unreadable(error) from error
        self._compare(len(content), hashlib.sha256(content).hexdigest())
        content = _loosen(content, self.loosened) if self.loosened else content
        return self._widen(content) if self.widened else content

    def _widen(self, content: bytes) -> bytes:
        from livefusion.inference.widen import widen  # it needs what reads files, which needs this

        return widen(content, self.name)

    def verify(self) -> None:
        """Check size and sha256, streaming the file; raises ModelError like `read`."""
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except OSError as error:
            raise self._unreadable(error) from error
        self._compare(size, digest)

    def _unreadable(self, error: OSError) -> ModelError:
        return ModelError(f"model {self.name} cannot be read from {self.path} ({error.strerror})", _RESTORE)

    def _compare(self, size: int, digest: str) -> None:
        if size != self.size_bytes:
            raise ModelError(
                f"model {self.name} has {size} bytes instead of {self.size_bytes} in {self.path}", _RESTORE
            )
        if digest != self.sha256:
            raise ModelError(f"model {self.name} in {self.path} is damaged (sha256 {digest[:12]}…)", _RESTORE)


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Result of verifying one entry: `problem` is empty when the file is the registered one."""

    entry: ModelEntry
    problem: str

    @property
    def passed(self) -> bool:
        """Tell whether the file is the registered one."""
        return not self.problem


class ModelRegistry(Mapping[str, ModelEntry]):
    """The entries of one models folder, by name, in file order."""

    def __init__(self, folder: Path, entries: Mapping[str, ModelEntry]) -> None:
        self.folder = folder
        self._entries = MappingProxyType(dict(entries))

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """Read `registry.toml` of `folder`, or of the folder that `find_models_folder` finds.

        Raises ModelError when there is none, or when it is not valid.
        """
        folder = folder or find_models_folder()
        path = folder / REGISTRY_FILE
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelError(f"no model registry at {path} ({error.strerror})", _FIND) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ModelError(f"model registry {path} is not valid TOML ({error})", _RESTORE) from error
        return cls(folder, _parse(document, path))

    def __getitem__(self, name: str) -> ModelEntry:
        try:
            return self._entries[name]
        except KeyError:
            known = ", ".join(self._entries) or "none"
            raise ModelError(f"no model is called {name!r}", f"known models are {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def check_all(self) -> list[ModelCheck]:
        """Verify every file and return one result each; raises nothing."""
        return [ModelCheck(entry, _problem(entry)) for entry in self._entries.values()]


def _loosen(content: bytes, places: tuple[int, ...]) -> bytes:
    """Make ``dim_value`` (field 1, a varint) at each place a field 4, which nobody knows and all skip."""
    changed = bytearray(content)
    for place in places:
        if changed[place] != _DIM_VALUE:
            raise ModelError("a model has no size where one should be loosened", _RESTORE)
        changed[place] = _NO_FIELD
    return bytes(changed)


def find_models_folder() -> Path:
    """Return the models folder: $LIVEFUSION_MODELS, else the installed package's, else the checkout's.

    Raises ModelError when none has a registry.
    """
    chosen = os.environ.get(MODELS_VARIABLE)
    if chosen:
        return Path(chosen)
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "models", package.parent / "models"):
        if (folder / REGISTRY_FILE).is_file():
            return folder
    raise ModelError("the models folder is missing", _FIND)


def _problem(entry: ModelEntry) -> str:
    try:
        entry.verify()
    except ModelError as error:
        return str(error)
    return ""


def _parse(document: Mapping[str, Any], path: Path) -> dict[str, ModelEntry]:
    if document.get("schema") != SCHEMA:
        raise ModelError(
            f"model registry {path} has schema {document.get('schema')!r} instead of {SCHEMA!r}", _RESTORE
        )
    tables = document.get("model", [])
    if not isinstance(tables, list):
        raise ModelError(f"`model` in {path} is not a list of tables", _RESTORE)
    entries: dict[str, ModelEntry] = {}
    for number, table in enumerate(tables, start=1):
        try:
            entry = _entry(table, path.parent)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"model {number} in {path} is not valid ({error!r})", _RESTORE) from error
        if entry.name in entries:
            raise ModelError(
                f"model registry {path} names {entry.name} twice", "remove one of the two entries"
            )
        entries[entry.name] = entry
    return entries


def _entry(table: Mapping[str, Any], folder: Path) -> ModelEntry:
    path = (folder / _text(table, "file")).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"file {table['file']!r} lies outside the models folder")
    digest = _text(table, "sha256").lower()
    if len(digest) != hashlib.sha256().digest_size * 2:
        raise ValueError(f"sha256 {digest!r} does not have 64 digits")
    return ModelEntry(
        name=_text(table, "name"),
        role=_text(table, "role"),
        path=path,
        sha256=digest,
        size_bytes=int(table["bytes"]),
        licence=_text(table, "licence"),
        source=_text(table, "source"),
        inputs=tuple(_tensor(spec) for spec in table["inputs"]),
        outputs=tuple(_tensor(spec) for spec in table["outputs"]),
    )


def _tensor(table: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(
        _text(table, "name"), _text(table, "dtype"), tuple(table["shape"]), _text(table, "meaning")
    )


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is {value!r} instead of a text")
    return value
