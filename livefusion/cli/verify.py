"""`livefusion verify`: was this video altered by LiveFusion, and what says so."""

import argparse
import time
from collections.abc import Callable

from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.core.errors import SettingsError
from livefusion.pipeline.verify import SIGNED, Verification, verify
from livefusion.provenance.manifest import INVALID, NONE, NOT_INSTALLED, UNREADABLE, UNSUPPORTED

STREAM_SECONDS = 20.0
"""A stream of the network is watched for so long unless told otherwise."""
QUIET_SECONDS = 2.0
"""What is over sooner needs no progress."""
_SAID = {
    "trusted": "valid, by a signer on a trust list",
    "valid": "valid: the file is as it was signed; nobody vouches for the signer",
    INVALID: "broken: the file was changed after it was signed",
    NONE: "none",
    UNSUPPORTED: "this kind of file has none",
    UNREADABLE: "damaged",
    NOT_INSTALLED: "not looked at: start with `uv run --extra cpu --extra c2pa livefusion …`",
}


def parser() -> CommandParser:
    """What follows ``verify``."""
    made = CommandParser(
        "livefusion verify",
        "Look for the watermark, the signed manifest, the notices in the stream and the metadata that\n"
        "LiveFusion leaves in every picture and file. Works on files that were encoded anew, made smaller\n"
        "or larger, cropped or mirrored, and on those of others.",
        "livefusion verify recording.mp4 --json -",
    )
    made.add_argument(
        "target", metavar="FILE|URL", help="a video file, or a stream (http, rtsp, rtmp, srt, udp)"
    )
    made.add_argument(
        "--json", type=json_target, metavar="FILE", help="write the report as JSON to a file, or - for stdout"
    )
    made.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help=f"look at the first S seconds only; {STREAM_SECONDS:g} of a stream if left out",
    )
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Verify and tell; 0 whatever was found, 2 if it is no video."""
    seconds = arguments.seconds
    if seconds is not None and not 0 < seconds < float("inf"):
        raise SettingsError(f"--seconds {seconds:g} is not valid", "it is a time above 0")
    if seconds is None and "://" in arguments.target and not arguments.target.startswith("file:"):
        seconds = STREAM_SECONDS
    found = verify(arguments.target, seconds=seconds, tell=_progress(console))
    console.status("")
    if str(arguments.json) != "-":
        console.result("\n".join(told(found)))
    if arguments.json is not None:  # last: a disk that is full loses no word of it
        write_json(arguments.json, found.as_json(), console)
    return 0


def _progress(console: Console) -> Callable[[str], None]:
    """Say what is done, once that has taken a while."""
    began, shown = time.monotonic(), ""

    def tell(doing: str) -> None:
        nonlocal shown
        if doing != shown and time.monotonic() - began > QUIET_SECONDS:
            shown = doing
            console.status(f"verifying: {doing}")

    return tell


def told(found: Verification) -> list[str]:
    """The report for people."""
    verdict = "ALTERED by LiveFusion" if found.altered else "nothing here says that LiveFusion altered it"
    lines = [f"{verdict} ({found.pictures} pictures, {found.seconds:.1f} s)"]
    lines.append(f"  watermark  {_watermark(found)}")
    lines.append(f"  signature  {_signature(found)}")
    count = len(found.notices)
    lines.append(
        f"  stream     {f'says so in {count} of {found.key_frames} key frames' if count else 'says nothing'}"
    )
    lines.append(f"  metadata   {'say so' if found.tagged else 'say nothing'}")
    if found.damaged:
        lines.append(f"  damaged    reading ended early: {found.damaged}")
    return lines


def _watermark(found: Verification) -> str:
    mark = found.watermark
    score = f"score {mark.score:.1f}, limit {mark.limit:.1f}"
    if not mark.detected:
        return f"not found ({score})"
    text = f"found in {mark.windows_detected} of {mark.windows} windows ({score})"
    if mark.searched:
        text = f"found in a picture that was cropped or put into another ({score})"
    if mark.alignment is not None and mark.alignment.mirrored:
        text += ", mirrored"
    if mark.payload is not None:
        said = mark.payload.as_report()
        return f"{text}: session {said['session']}, key {said['key_id']}"
    return f"{text}; made with another key" if mark.key_known else f"{text}; no key here to read it with"


def _signature(found: Verification) -> str:
    manifest = found.manifest
    text = _SAID.get(manifest.state, manifest.state)
    by = f" ({manifest.signer})" if manifest.state in SIGNED and manifest.signer else ""
    return text + by
