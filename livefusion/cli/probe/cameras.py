"""Which cameras there are."""

import os
import sys
from pathlib import Path

from livefusion.cli.probe.finding import Finding, State

_NONE = "plug one in and allow this program to use it; `livefusion demo` also works without one"


def find_cameras() -> list[Finding]:
    """The cameras that ``-i camera:N`` can open."""
    from livefusion.media.sources.capture import list_cameras

    cameras = list_cameras()
    if not cameras:
        return [Finding("cameras", State.LACKING, "none found", _NONE)]
    names = ", ".join(str(camera) for camera in cameras)
    return [Finding("cameras", State.OK, names), *_forbidden()]


def _forbidden() -> list[Finding]:
    """Devices that are there but that this user may not open."""
    if sys.platform != "linux":
        return []
    closed = [
        str(path) for path in sorted(Path("/dev").glob("video*")) if not os.access(path, os.R_OK | os.W_OK)
    ]
    if not closed:
        return []
    remedy = 'sudo usermod -aG video "$USER", then log in again'
    return [Finding("camera rights", State.LACKING, f"no right to open {', '.join(closed)}", remedy)]
