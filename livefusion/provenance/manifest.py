"""The signed manifest in a recording (C2PA), which any verifier of the standard reads.

Needs c2pa-python, an optional extra of 23 MB. It signs MP4 and not Matroska; a file that a killed run left is
signed as well as any.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
SIGNED_SUFFIX: Final = ".mp4"
INVALID, NONE, UNSUPPORTED = "invalid", "none", "unsupported"
UNREADABLE, NOT_INSTALLED = "unreadable", "not-installed"
_REMEDY = "start with `uv run --extra cpu --extra c2pa livefusion …`, which installs it"
_UNKNOWN_SIGNER = "signingCredential.untrusted"


@dataclass(frozen=True, slots=True)
class ManifestState:
    """What a file's manifest is worth.

    ``state`` is ``valid`` (as it was signed, by a signer whom nobody vouches for), ``trusted`` (vouched for),
    ``invalid`` (changed since), ``none``, ``unsupported`` (a kind of file that has none), ``unreadable`` or
    ``not-installed``. ``problems`` are the codes of the standard; ``source_types`` what the picture is said
    to be.
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


def sign_file(path: Path, certificate: SigningCertificate, run: str) -> None:
    """Put a signed manifest into an MP4, in one step; ``run`` names the run in it.

    ``MachineError`` without the library, ``ProvenanceError`` if it refuses the file, ``OutputError`` if the
    file cannot be written.
    """
    if path.suffix.lower() != SIGNED_SUFFIX:
        raise ProvenanceError(f"{path.name} cannot be signed", "C2PA has a place in MP4, not in Matroska")
    c2pa = _library()
    info = c2pa.C2paSignerInfo(
        alg=b"es256", sign_cert=certificate.chain.encode(), private_key=certificate.key.encode(), ta_url=None
    )
    part = path.with_name(f".{path.name}.signing")
    try:
        with (
            c2pa.Signer.from_info(info) as signer,
            c2pa.Builder(_manifest(path.name, run)) as builder,
            path.open("rb") as source,
            part.open("w+b") as target,
        ):
            builder.sign(signer, KINDS[SIGNED_SUFFIX], source, target)
            target.flush()
            os.fsync(target.fileno())
        part.replace(path)
    except c2pa.C2paError as error:
        raise ProvenanceError(
            f"{path.name} cannot be signed ({_line(error)})", "is it a whole MP4?"
        ) from error
    except OSError as error:
        raise OutputError(f"{path} cannot be signed ({error.strerror})", "free some space") from error
    finally:
        part.unlink(missing_ok=True)


def manifest_state(path: Path) -> ManifestState:
    """What the manifest in a file says and is worth. ``InputError`` if the file cannot be opened."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        return ManifestState(UNSUPPORTED)
    try:
        c2pa = _library()
    except MachineError:
        return ManifestState(NOT_INSTALLED)
    try:
        with path.open("rb") as file, c2pa.Reader(kind, file) as reader:
            document = json.loads(reader.json())
    except c2pa.C2paError as error:
        text = _line(error)
        return (
            ManifestState(NONE) if "ManifestNotFound" in text else ManifestState(UNREADABLE, problems=(text,))
        )
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})", "check the name") from error
    return _state_of(document)


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


def _manifest(title: str, run: str) -> dict[str, Any]:
    agent = {"name": PRODUCER, "version": livefusion.__version__}
    action = {"action": "c2pa.created", "digitalSourceType": SOURCE_TYPE_URI, "softwareAgent": agent}
    return {
        "claim_generator_info": [agent],
        "title": title,
        "format": KINDS[SIGNED_SUFFIX],
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
