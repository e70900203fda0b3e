"""The personas that ship: faces that belong to nobody, composed of several licensed photos.

``models/personas/personas.toml`` lists them; ``tools/build_personas.py`` makes them.
"""

import hashlib
import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.archive import read_arrays
from livefusion.core.errors import IdentityError, ModelError
from livefusion.core.face import Identity
from livefusion.core.words import did_you_mean
from livefusion.inference.registry import find_models_folder
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, VERTEX_COUNT
from livefusion.swap.mesh.mask import face_mask

SCHEMA = "livefusion.personas/1"
_RESTORE = "restore it with `git checkout models` or reinstall livefusion"


@dataclass(frozen=True, slots=True)
class PersonaEntry:
    """One persona of the list; ``max_cosine`` is how alike it and the likest contributor are (SFace)."""

    name: str
    label: str
    path: Path
    sha256: str
    licence: str
    source: str
    contributors: tuple[str, ...]
    max_cosine: float


class PersonaLibrary:
    """The personas of a folder, by default those that ship, in the order of their list.

    ``ModelError`` if the list is missing or not valid.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or find_models_folder() / "personas"
        self._entries = {entry.name: entry for entry in _read_list(self._folder / "personas.toml")}

    def names(self) -> tuple[str, ...]:
        """All names, the default first."""
        return tuple(self._entries)

    @property
    def first(self) -> PersonaEntry:
        """The one that is put on when nobody is named."""
        return next(iter(self._entries.values()))

    def entry(self, name: str) -> PersonaEntry:
        """What the list says of a persona; ``IdentityError`` if there is none of that name."""
        try:
            return self._entries[name]
        except KeyError:
            hint = did_you_mean(name, self.names()) or f"there are {', '.join(self._entries)}"
            raise IdentityError(f"no persona is called {name!r}", hint) from None

    def load(self, name: str) -> Identity:
        """A persona as an identity without consent, which it needs not.

        ``IdentityError`` if there is none of that name; ``ModelError`` if its file is missing or damaged.
        """
        entry = self.entry(name)
        try:
            content = entry.path.read_bytes()
        except OSError as error:
            raise ModelError(f"persona {name} cannot be read ({error.strerror})", _RESTORE) from error
        if hashlib.sha256(content).hexdigest() != entry.sha256:
            raise ModelError(f"persona {name} in {entry.path} is damaged", _RESTORE)
        return unpack_persona(content, name, entry.label)


def pack_persona(identity: Identity) -> bytes:
    """The content of a persona's file: texture as WebP, shape and embedding as they are, in one NPZ.

    The alpha is not kept: it is the canonical one. ``ValueError`` if the identity has no embedding.
    """
    if identity.embedding is None:
        raise ValueError("a persona has an embedding")
    bgr = np.ascontiguousarray(identity.texture[..., 2::-1])
    _, webp = cv2.imencode(".webp", bgr, [cv2.IMWRITE_WEBP_QUALITY, 92])
    buffer = io.BytesIO()
    np.savez(buffer, texture=webp.ravel(), shape=identity.shape, embedding=identity.embedding)
    return buffer.getvalue()


def unpack_persona(content: bytes, name: str, label: str) -> Identity:
    """The identity in a persona's file; ``ModelError`` if it is none."""
    try:
        arrays = read_arrays(io.BytesIO(content))
        rgb = _decode(arrays["texture"])
        shape, embedding = arrays["shape"], arrays["embedding"]
    except (OSError, EOFError, KeyError, ValueError, BadZipFile, cv2.error) as error:
        raise ModelError(f"persona {name} is not a persona file ({error})", _RESTORE) from error
    if shape.shape != (VERTEX_COUNT, 3):
        raise ModelError(f"persona {name} has a shape of {shape.shape}", _RESTORE)
    alpha = np.round(face_mask() * 255).astype(np.uint8)
    return Identity(name, label, np.dstack([rgb, alpha]), shape, embedding)


def _decode(webp: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    bgr = cv2.imdecode(webp, cv2.IMREAD_COLOR)
    if bgr is None or bgr.shape != (TEXTURE_SIZE, TEXTURE_SIZE, 3):
        raise ValueError("its texture cannot be decoded")
    return np.asarray(bgr[..., ::-1], np.uint8)


def _read_list(path: Path) -> list[PersonaEntry]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"no list of personas at {path} ({error.strerror})", _RESTORE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"list of personas {path} is not valid TOML ({error})", _RESTORE) from error
    if document.get("schema") != SCHEMA:
        raise ModelError(f"list of personas {path} has not the schema {SCHEMA}", _RESTORE)
    try:
        entries = [_entry(table, path.parent) for table in document["persona"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"list of personas {path} is not valid ({error!r})", _RESTORE) from error
    if not entries:
        raise ModelError(f"list of personas {path} is empty", _RESTORE)
    return entries


def _entry(table: Mapping[str, Any], folder: Path) -> PersonaEntry:
    return PersonaEntry(
        name=table["name"],
        label=table["label"],
        path=folder / Path(table["file"]).name,
        sha256=table["sha256"],
        licence=table["licence"],
        source=table["source"],
        contributors=tuple(table["contributors"]),
        max_cosine=float(table["max_cosine"]),
    )
