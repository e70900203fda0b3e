"""`livefusion sign`: sign recordings that were not signed when they ended, as those of a killed run."""

import argparse
from pathlib import Path

from livefusion.cli.console import Console
from livefusion.cli.parser import CommandParser
from livefusion.core.errors import MachineError, ProvenanceError
from livefusion.pipeline.seal import seal
from livefusion.pipeline.verify import verify
from livefusion.provenance.manifest import APART, SIGNED_SUFFIXES, can_sign, manifest_state, sidecar_of

_KINDS = " or ".join(SIGNED_SUFFIXES)


def parser() -> CommandParser:
    """What follows ``sign``."""
    made = CommandParser(
        "livefusion sign",
        "Complete the metadata of recordings and sign them (C2PA), as a run does when it ends. Only what\n"
        "carries the watermark of your own key is signed. The signature of an MP4 goes into it, that of a\n"
        "Matroska file beside it, into a file of the same name that ends in .c2pa.",
        "livefusion sign recording.mp4",
    )
    made.add_argument("files", metavar="FILE", type=Path, nargs="+", help=f"a recording ({_KINDS})")
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Sign each; ends with the first that cannot be."""
    if not can_sign():
        raise MachineError(
            "signed manifests need the package c2pa-python",
            "start with `uv run --extra cpu --extra c2pa livefusion …`, which installs it",
        )
    for path in arguments.files:
        console.result(f"{path}: {_sign(path)}")
    return 0


def _sign(path: Path) -> str:
    if path.suffix.lower() not in SIGNED_SUFFIXES:
        raise ProvenanceError(f"{path} cannot be signed", f"what is signed is {_KINDS}")
    if manifest_state(path).state in {"valid", "trusted"}:
        return "is signed already"
    payload = verify(str(path)).watermark.payload
    if payload is None:
        raise ProvenanceError(
            f"{path} does not carry the watermark of your key", "sign what LiveFusion recorded with it"
        )
    seal(path, f"{payload.session:04x}-{payload.key_id:02x}")
    return f"signed, in {sidecar_of(path).name}" if path.suffix.lower() in APART else "signed"
