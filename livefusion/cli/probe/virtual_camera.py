"""Is there a virtual camera that other programs can open, and if not, how does one get it?"""

import sys
from pathlib import Path

from livefusion.cli.probe.finding import Finding, State
from livefusion.cli.probe.packages import version_of

NAME = "virtual camera"
LOAD_FOR_BROWSERS = 'sudo modprobe v4l2loopback devices=1 exclusive_caps=1 card_label="LiveFusion (AI)"'
LOAD_FOR_OLD_ZOOM = 'sudo modprobe v4l2loopback devices=1 exclusive_caps=0 card_label="LiveFusion (AI)"'
INSTALL_DRIVER = "sudo apt install v4l2loopback-dkms"
INSTALL_BINDING = "start with `uv run --extra cpu --extra vcam livefusion …` (pyvirtualcam is GPLv2)"
VIDEO_DEVICES = Path("/sys/devices/virtual/video4linux")


def find_virtual_camera(devices: Path = VIDEO_DEVICES) -> list[Finding]:
    """The Python binding, and the driver or OBS behind it."""
    version = version_of("pyvirtualcam")
    if version is None:
        binding = Finding("vcam: output", State.LACKING, "pyvirtualcam is not installed", INSTALL_BINDING)
    else:
        binding = Finding("vcam: output", State.OK, f"pyvirtualcam {version}")
    return [binding, _loopback(devices) if sys.platform == "linux" else _obs()]


def _loopback(devices: Path) -> Finding:
    nodes = sorted(devices.glob("video*")) if devices.is_dir() else []
    if nodes:
        names = ", ".join(f"/dev/{node.name} ({_label(node)})" for node in nodes)
        return Finding(NAME, State.OK, names, f"for an old Zoom that does not list it: {LOAD_FOR_OLD_ZOOM}")
    remedy = "\n".join(
        (
            f"once: {INSTALL_DRIVER}",
            f"for Chrome, Firefox, Teams and OBS: {LOAD_FOR_BROWSERS}",
            f"for an old Zoom that does not list it: {LOAD_FOR_OLD_ZOOM}",
        )
    )
    return Finding(NAME, State.LACKING, "no v4l2loopback device", remedy)


def _label(node: Path) -> str:
    try:
        return (node / "name").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "no name"


def _obs() -> Finding:
    return Finding(
        NAME,
        State.OK,
        "the one that OBS Studio installs is used",
        "if a program does not list it: install OBS Studio, start its virtual camera once, and close it",
    )
