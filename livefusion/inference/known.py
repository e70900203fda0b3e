"""Files of others that are known by their sha256: what they are, under which terms, and where they lie."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from livefusion.core.errors import ModelError
from livefusion.core.words import did_you_mean
from livefusion.inference.classify import Role
from livefusion.inference.download import Download
from livefusion.inference.registry import find_models_folder

SCHEMA = "livefusion.known/1"
KNOWN_FILE = "known.toml"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One file: ``size_bytes`` is None where nobody noted it, ``terms`` a page with the licence or empty."""

    name: str
    family: str
    role: Role
    file: str
    sha256: str
    licence: str
    mirrors: tuple[str, ...]
    terms: str = ""
    size_bytes: int | None = None

    @property
    def download(self) -> Download:
        """What is asked of its mirrors."""
        return Download(self.name, self.file, self.sha256, self.mirrors, self.size_bytes)


class KnownModels(Mapping[str, KnownModel]):
    """Every known file by name."""

    def __init__(self, models: Mapping[str, KnownModel]) -> None:
        self._models = dict(models)
        self._by_hash = {model.sha256: model for model in models.values()}

    @staticmethod
    def load(path: Path | None = None) -> "KnownModels":
        """Read the list that ships, or another one; ``ModelError`` if it is missing or not valid."""
        path = path or find_models_folder() / KNOWN_FILE
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
            if document.get("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA}")
            models = [_model(table) for table in document.get("model", [])]
        except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{path} cannot be used ({error})", "reinstall livefusion") from error
        return KnownModels({model.name: model for model in models})

    def by_hash(self, sha256: str) -> KnownModel | None:
        """The known file with this content."""
        return self._by_hash.get(sha256)

    def __getitem__(self, name: str) -> KnownModel:
        if name not in self._models:
            hint = did_you_mean(name, list(self._models)) or "`livefusion models list --known` shows all"
            raise ModelError(f"no known model is called {name}", hint)
        return self._models[name]

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)


@cache
def known_models() -> KnownModels:
    """The list that ships, read once."""
    return KnownModels.load()


def _model(table: Mapping[str, Any]) -> KnownModel:
    return KnownModel(
        name=str(table["name"]),
        family=str(table["family"]),
        role=Role(table["role"]),
        file=str(table["file"]),
        sha256=str(table["sha256"]).lower(),
        licence=str(table["licence"]),
        mirrors=tuple(str(url) for url in table["mirrors"]),
        terms=str(table.get("terms", "")),
        size_bytes=table.get("bytes"),
    )
