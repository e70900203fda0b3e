"""The photo the performer is made of, cut out, with its face landmarks."""

import hashlib
import io
import tomllib
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.archive import read_arrays
from livefusion.core.errors import ModelError
from livefusion.inference.registry import find_models_folder

SCHEMA = "livefusion.performer/1"
_FOLDER = "performer"
_RESTORE = "restore it with `git checkout models` or reinstall livefusion"


@dataclass(frozen=True, slots=True, eq=False)
class PerformerPhoto:
    """A person cut out of a photo.

    ``rgb`` is (h, w, 3) uint8, ``alpha`` (h, w) uint8 with 255 inside the person, ``landmarks`` (478, 3)
    float32 in pixels of the photo, ``triangles`` (n, 3) int32 over the first 468 of them.
    """

    rgb: npt.NDArray[np.uint8]
    alpha: npt.NDArray[np.uint8]
    landmarks: npt.NDArray[np.float32]
    triangles: npt.NDArray[np.int32]


def load_performer_photos() -> tuple[PerformerPhoto, ...]:
    """The performer, then her companion; ``ModelError`` if a file is missing or damaged."""
    models = find_models_folder()
    files = _read_files(models / _FOLDER)
    try:
        triangles = read_arrays(io.BytesIO((models / "canonical_mesh.npz").read_bytes()))["triangles"]
        landmarks = read_arrays(io.BytesIO(files["landmarks.npz"]))
        return tuple(
            _photo(files[f"{person}.webp"], landmarks[person], triangles) for person in ("first", "second")
        )
    except (EOFError, KeyError, OSError, ValueError, BadZipFile, cv2.error) as error:
        raise ModelError(f"the performer cannot be read ({error})", _RESTORE) from error


def _photo(
    content: bytes, landmarks: npt.NDArray[np.float32], triangles: npt.NDArray[np.int32]
) -> PerformerPhoto:
    bgra = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    if bgra is None or bgra.ndim != 3 or bgra.shape[2] != 4:
        raise ValueError("a photo is not RGBA")
    rgba = cv2.cvtColor(bgra, cv2.COLOR_BGRA2RGBA).astype(np.uint8)
    return PerformerPhoto(rgba[..., :3].copy(), rgba[..., 3].copy(), landmarks, triangles)


def _read_files(folder: Path) -> dict[str, bytes]:
    """The files that the entry names, checked by their sha256."""
    try:
        entry = tomllib.loads((folder / "performer.toml").read_text(encoding="utf-8"))
        files = {str(file["name"]): (folder / file["name"]).read_bytes() for file in entry["file"]}
        digests = {str(file["name"]): str(file["sha256"]) for file in entry["file"]}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ModelError(f"the performer's files are missing in {folder} ({error})", _RESTORE) from error
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != digests[name]:
            raise ModelError(f"the performer's {name} in {folder} is damaged", _RESTORE)
    return files
