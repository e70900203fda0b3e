"""Models that users bring: recognised, kept in a folder of theirs, found by name or by path.

::

    LIVEFUSION_HOME or the user's data folder
    └── models
        ├── NAME.onnx        the file, under any suffix that it had
        └── NAME.json        what it is: sha256, family, licence, where it came from
"""

import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from livefusion.core.errors import ModelError, SettingsError
from livefusion.core.home import user_home
from livefusion.core.words import did_you_mean, either
from livefusion.inference.classify import Kind, Role, classify, describe
from livefusion.inference.known import KnownModel, known_models
from livefusion.inference.onnx_graph import OnnxGraph
from livefusion.inference.registry import ModelEntry
from livefusion.inference.vet import vet

SCHEMA = "livefusion.model/1"
SUFFIXES = (".onnx", ".dfm")
MODELS_FOLDER_VARIABLE = "LIVEFUSION_USER_MODELS"
_SPARE = 64 << 20
"""Bytes of a disk that are left free: one that is full harms more than us."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """One file: what it is for, which families it may be of, and the outside of its graph.

    ``known`` is its entry in the list of known files, None if its sha256 is not there.
    """

    name: str
    path: Path
    sha256: str
    size_bytes: int
    kind: Kind
    graph: OnnxGraph
    known: KnownModel | None = None

    @property
    def role(self) -> Role:
        """What it is used for."""
        return self.kind.role

    @property
    def family(self) -> str:
        """Its family; ``ModelError`` asks for it if several look like it."""
        if not self.kind.family:
            raise ModelError(
                f"the graph of {self.name} fits several families ({either(self.kind.families)})",
                f"say which: `livefusion models add {self.path} --family {self.kind.families[0]}`",
            )
        return self.kind.family

    @property
    def licence(self) -> str:
        """Its licence as far as it is known."""
        return self.known.licence if self.known else "unknown"

    @property
    def precision(self) -> str:
        """The type of its weights, whatever it is called: ``fp32`` or ``fp16``."""
        return {"float32": "fp32", "float16": "fp16"}.get(self.graph.weight_dtype, self.graph.weight_dtype)

    @property
    def entry(self) -> ModelEntry:
        """What ``Session`` loads; it compares the content with the sha256."""
        source = self.known.mirrors[0] if self.known and self.known.mirrors else str(self.path)
        return ModelEntry(
            self.name,
            self.role.value,
            self.path,
            self.sha256,
            self.size_bytes,
            self.licence,
            source,
            self.graph.inputs,
            self.graph.outputs,
            computes=self.graph.inner_dtype,
        )

    def widened(self, reason: str) -> ModelEntry | None:
        """The same network in float32, where halves do not do for a ``reason``; None if it has no halves."""
        return replace(self.entry, widened=reason) if self.graph.inner_dtype == "float16" else None


def user_models() -> Path:
    """The user's folder of models; ``LIVEFUSION_USER_MODELS`` overrides its place."""
    chosen = os.environ.get(MODELS_FOLDER_VARIABLE)
    return Path(chosen) if chosen else user_home() / "models"


def inspect(path: Path, *, family: str = "", name: str = "", sha256: str = "") -> ModelFile:
    """Recognise a file: by its sha256, else by its graph; ``family`` overrules a graph that fits several.

    ``ModelError`` if it must not be loaded or is no network that is known; ``SettingsError`` for a family
    that its graph does not fit. ``sha256`` is left out unless it was taken before.
    """
    graph = vet(path)
    digest = sha256 or hash_file(path)
    known = known_models().by_hash(digest)
    kind = Kind(known.role, (known.family,)) if known else classify(graph)
    if kind is None:
        raise ModelError(
            f"{path.name} is no network that is known: it takes {describe(graph.inputs)} and gives "
            f"{describe(graph.outputs)}",
            "see the README for what can be used",
        )
    if family:
        kind = _chosen(kind, family, path)
    called = name or (known.name if known else name_of(path))
    return ModelFile(called, path, digest, path.stat().st_size, kind, graph, known)


def hash_file(path: Path) -> str:
    """The sha256 of a file, in hexadecimal; ``ModelError`` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})", "see that the file is there") from error


def name_of(path: PurePath) -> str:
    """A name for a file that has none: what it is called, without what names cannot hold."""
    return _NOT_IN_NAMES.sub("_", path.stem).strip("._-")[:80] or "model"


def find_model(name_or_path: str, *, family: str = "") -> ModelFile:
    """The model that a setting names: a file, or one that was added or fetched.

    ``ModelError`` says how to get one that is known but not here.
    """
    path = Path(name_or_path)
    if path.suffix.lower() in SUFFIXES or path.is_file():
        return inspect(path, family=family)
    return UserModels().find(name_or_path, family=family)


def find_of_family(family: str) -> ModelFile | None:
    """The first of the user's models of a family, such as ``arcface``; None if there is none."""
    store = UserModels()
    return next((one for one in store.all() if one.kind.family == family), None)


class UserModels:
    """The models under ``root``, by default in the user's folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or user_models()

    def names(self) -> tuple[str, ...]:
        """What was added or fetched, sorted."""
        return tuple(sorted(path.stem for path in self.root.glob("*.json"))) if self.root.is_dir() else ()

    def find(self, name: str, *, family: str = "") -> ModelFile:
        """One by its name; ``ModelError`` if it is not here or no longer what it was."""
        if name not in self.names():
            if name in known_models():
                raise ModelError(f"model {name} is not here", f"`livefusion models fetch {name}`")
            near = did_you_mean(name, (*self.names(), *known_models()))
            raise ModelError(f"no model is called {name}", near or "`livefusion models list` shows what is")
        record = self._record(name)
        path = self.root / str(record["file"])
        if not path.is_file():
            raise ModelError(f"the file of model {name} is gone from {path}", "add or fetch it again")
        chosen = family or str(record.get("family", ""))
        return inspect(path, family=chosen, name=name, sha256=str(record["sha256"]))

    def all(self) -> list[ModelFile]:
        """Those that are whole as far as their heads say; the others are left to ``problems``."""
        found = []
        for name in self.names():
            try:
                found.append(self.find(name))
            except (ModelError, SettingsError):
                continue
        return found

    def problem(self, name: str) -> str:
        """What is wrong with a model, empty if nothing is; its content is compared with its sha256."""
        try:
            self.find(name).entry.verify()
        except (ModelError, SettingsError) as error:
            return str(error)
        return ""

    def add(self, path: Path, *, name: str = "", family: str = "", in_place: bool = False) -> ModelFile:
        """Recognise a file and keep a copy, or a note of where it lies; the model as it is kept.

        ``ModelError`` if it cannot be used, the name is taken by another file or the disk is full;
        ``SettingsError`` for a name or family that cannot be.
        """
        model = inspect(path, family=family)
        called = self._free_name(name or model.name, model.sha256)
        kept = path.resolve() if in_place else self.root / f"{called}{path.suffix.lower() or '.onnx'}"
        self.make_root()
        if not in_place and not (kept.exists() and kept.samefile(path)):
            require_space(self.root, model.size_bytes)
            part = kept.with_name(f"{kept.name}.part")
            try:
                shutil.copyfile(path, part)
                part.replace(kept)
            except OSError as error:
                part.unlink(missing_ok=True)
                raise ModelError(
                    f"{path} cannot be copied to {kept} ({error.strerror})", "see the disk"
                ) from error
        return self._note(called, kept, model)

    def take(self, part: Path, suffix: str, model: ModelFile) -> ModelFile:
        """Keep a file that already lies in the folder, under its name; the model as it is kept."""
        called = self._free_name(model.name, model.sha256)
        kept = part.replace(self.root / f"{called}{suffix}")
        return self._note(called, kept, model)

    def remove(self, name: str) -> None:
        """Delete a model and its record; a file outside the folder stays. ``ModelError`` if there is none."""
        if name not in self.names():
            near = did_you_mean(name, self.names())
            raise ModelError(f"no model of yours is called {name}", near or "see `livefusion models list`")
        file = Path(str(self._record(name)["file"]))
        if file.name == str(file):
            (self.root / file).unlink(missing_ok=True)
        (self.root / f"{name}.json").unlink()

    def _note(self, name: str, path: Path, model: ModelFile) -> ModelFile:
        """Write down what a file is, in one step."""
        record = {
            "schema": SCHEMA,
            "file": path.name if path.parent == self.root else str(path),
            "sha256": model.sha256,
            "role": model.role.value,
            "family": model.kind.family,
            "licence": model.licence,
        }
        target = self.root / f"{name}.json"
        part = target.with_suffix(".json.part")
        part.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        part.replace(target)
        return ModelFile(name, path, model.sha256, model.size_bytes, model.kind, model.graph, model.known)

    def _free_name(self, name: str, sha256: str) -> str:
        if not _NAME.fullmatch(name):
            raise SettingsError(f"{name!r} cannot be the name of a model", "use letters, digits, . _ and -")
        if name in self.names() and self._record(name).get("sha256") != sha256:
            raise ModelError(f"there is another model {name}", "give this one a --name, or remove that one")
        return name

    def make_root(self) -> None:
        """Make the folder; ``ModelError`` if the system refuses."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(
                f"cannot make {self.root} ({error.strerror})",
                f"set {MODELS_FOLDER_VARIABLE} to a folder of yours",
            ) from error

    def _record(self, name: str) -> dict[str, Any]:
        path = self.root / f"{name}.json"
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record.get("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA}")
            return {**record, "file": record["file"], "sha256": record["sha256"]}
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise ModelError(
                f"{path} cannot be used ({error})", "delete it and add the model again"
            ) from error


def require_space(folder: Path, size_bytes: int) -> None:
    """``ModelError`` unless the disk of a folder has room for so many bytes and some to spare."""
    free = shutil.disk_usage(folder).free
    if free < size_bytes + _SPARE:
        raise ModelError(
            f"{folder} has {free / 1e6:.0f} MB free, and {(size_bytes + _SPARE) / 1e6:.0f} are needed",
            f"free some space, or set {MODELS_FOLDER_VARIABLE} to a folder on another disk",
        )


def _chosen(kind: Kind, family: str, path: Path) -> Kind:
    if family not in kind.families:
        raise SettingsError(f"{path.name} is no {family}, by its graph", f"it may be {either(kind.families)}")
    return Kind(kind.role, (family,))
