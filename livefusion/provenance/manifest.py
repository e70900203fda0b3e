"""The signed manifest of a recording (C2PA), which any verifier of the standard reads.

Needs c2pa-python, an optional extra of 23 MB. It goes into an MP4. Matroska has no place for one: there it
lies beside the recording, as the standard allows, in a file of the same name that ends in ``.c2pa``, and is
bound to it by a hash of all its bytes. A file that a killed run left is signed as well as any.
"""

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import livefusion
from livefusion.core.errors import InputError, MachineError, OutputError, ProvenanceError
from livefusion.provenance.certificate import SigningCertificate
from livefusion.provenance.label import PRODUCER, SOURCE_TYPE_URI

KINDS: Final = {
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".m4v": "video/x-m4v",
    ".avi": "video/avi",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
"""File name endings that manifests are looked for in; ours go into the first."""
EMBEDDING: Final = ".mp4"
APART: Final = {".mkv": "video/x-matroska", ".webm": "video/webm"}
"""Kinds of file whose manifest lies beside them."""
SIGNED_SUFFIXES: Final = (EMBEDDING, ".mkv")
"""Kinds of file that are signed here."""
SIDECAR: Final = ".c2pa"
_MOST_SIDECAR = 64 << 20
"""A manifest that is larger is not read; ours has 3.4 kB."""
INVALID, NONE, UNSUPPORTED = "invalid", "none", "unsupported"
UNREADABLE, NOT_INSTALLED = "unreadable", "not-installed"
_REMEDY = "start with `uv run --extra cpu --extra c2pa livefusion …`, which installs it"
_UNKNOWN_SIGNER = "signingCredential.untrusted"


@dataclass(frozen=True, slots=True)
class ManifestState:
    """What a file's manifest is worth.

    ``state`` is ``valid`` (as it was signed, by a signer whom nobody vouches for), ``trusted`` (vouched for),
    ``invalid`` (changed since), ``none``, ``unsupported`` (a kind of file that none is looked for in),
    ``unreadable`` or ``not-installed``. ``problems`` are the codes of the standard; ``source_types`` what the
    picture is said to be.
    """

    state: str
    tool: str = ""
    signer: str = ""
    source_types: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def can_sign() -> bool:
    """Whether c2pa-python is installed."""
    try:
        _library()
    except MachineError:
        return False
    return True


def sidecar_of(path: Path) -> Path:
    """Where the manifest of a file lies that has no place for one."""
    return path.with_suffix(SIDECAR)


def sign_file(path: Path, certificate: SigningCertificate, run: str) -> None:
    """Sign a recording in one step, in the file or beside it; ``run`` names the run in the manifest.

    ``MachineError`` without the library, ``ProvenanceError`` if it refuses the file, ``OutputError`` if
    nothing can be written there.
    """
    suffix = path.suffix.lower()
    if suffix not in SIGNED_SUFFIXES:
        raise ProvenanceError(f"{path.name} cannot be signed", f"sign {' or '.join(SIGNED_SUFFIXES)}")
    embeds = suffix == EMBEDDING
    claim = _claim(path.name, KINDS.get(suffix) or APART[suffix], run)
    target = path if embeds else sidecar_of(path)
    part = target.with_name(f".{target.name}.signing")
    c2pa = _library()
    try:
        with path.open("rb") as source, part.open("w+b") as file:
            manifest = _sign(c2pa, certificate, claim, source, file if embeds else _Nowhere())
            if not embeds:
                file.write(manifest)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except c2pa.C2paError as error:
        raise ProvenanceError(
            f"{path.name} cannot be signed ({_line(error)})", "is it a whole video?"
        ) from error
    except OSError as error:
        raise OutputError(f"{path} cannot be signed ({error.strerror})", "free some space") from error
    finally:
        part.unlink(missing_ok=True)


class _Nowhere(io.RawIOBase):
    """Takes the copy of a file that the library writes also when the manifest goes apart."""

    def __init__(self) -> None:
        self._at = self._end = 0

    def readable(self) -> bool:
        """As the library asks for."""
        return True

    writable = seekable = readable

    def write(self, content: Any) -> int:
        """Forget it."""
        self._at += len(content)
        self._end = max(self._end, self._at)
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Count as if it were there."""
        self._at = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence] + offset
        return self._at


def _sign(
    c2pa: Any, certificate: SigningCertificate, claim: dict[str, Any], source: BinaryIO, target: Any
) -> bytes:
    """Write the signed file to ``target``, or its copy if the manifest goes apart; gives the manifest."""
    info = c2pa.C2paSignerInfo(
        alg=b"es256", sign_cert=certificate.chain.encode(), private_key=certificate.key.encode(), ta_url=None
    )
    kind = claim["format"]
    with c2pa.Signer.from_info(info) as signer, c2pa.Builder(claim) as builder:
        if kind in APART.values():
            builder.set_no_embed()
        manifest: bytes = builder.sign(signer, kind, source, target)
    return manifest


def manifest_state(path: Path) -> ManifestState:
    """What the manifest of a file says and is worth. ``InputError`` if the file cannot be opened."""
    suffix = path.suffix.lower()
    if suffix not in KINDS and suffix not in APART:
        return ManifestState(UNSUPPORTED)
    if suffix in APART and not sidecar_of(path).is_file():
        return ManifestState(NONE)
    try:
        c2pa = _library()
    except MachineError:
        return ManifestState(NOT_INSTALLED)
    try:
        document = _embedded(c2pa, path) if suffix in KINDS else _apart(c2pa, path)
    except c2pa.C2paError as error:
        text = _line(error)
        return (
            ManifestState(NONE) if "ManifestNotFound" in text else ManifestState(UNREADABLE, problems=(text,))
        )
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})", "check the name") from error
    return _state_of(document)


def _embedded(c2pa: Any, path: Path) -> dict[str, Any]:
    with path.open("rb") as file, c2pa.Reader(KINDS[path.suffix.lower()], file) as reader:
        document: dict[str, Any] = json.loads(reader.json())
    return document


def _apart(c2pa: Any, path: Path) -> dict[str, Any]:
    with sidecar_of(path).open("rb") as file:
        manifest = file.read(_MOST_SIDECAR)
    with path.open("rb") as file, c2pa.Reader(APART[path.suffix.lower()], file, manifest) as reader:
        document: dict[str, Any] = json.loads(reader.json())
    return document


def _state_of(document: dict[str, Any]) -> ManifestState:
    active = document.get("manifests", {}).get(document.get("active_manifest"), {})
    problems = tuple(str(one.get("code", "")) for one in document.get("validation_status") or ())
    generators = active.get("claim_generator_info") or [{}]
    actions = [
        action
        for assertion in active.get("assertions", ())
        if str(assertion.get("label", "")).startswith("c2pa.actions")
        for action in assertion.get("data", {}).get("actions", ())
    ]
    return ManifestState(
        str(document.get("validation_state", "invalid")).lower(),
        str(generators[0].get("name", "")),
        str((active.get("signature_info") or {}).get("common_name", "")),
        tuple(str(action["digitalSourceType"]) for action in actions if "digitalSourceType" in action),
        problems,
    )


def _claim(title: str, kind: str, run: str) -> dict[str, Any]:
    agent = {"name": PRODUCER, "version": livefusion.__version__}
    action = {"action": "c2pa.created", "digitalSourceType": SOURCE_TYPE_URI, "softwareAgent": agent}
    return {
        "claim_generator_info": [agent],
        "title": title,
        "format": kind,
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": [action]}},
            {"label": "org.livefusion.run", "data": {"id": run}},
        ],
    }


def _library() -> Any:
    try:
        import c2pa
    except ImportError as error:
        raise MachineError("signed manifests need the package c2pa-python", _REMEDY) from error
    return c2pa


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
