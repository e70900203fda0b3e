"""Which packages are installed, and whether they get into each other's way."""

import re
import sys
from importlib import metadata

from livefusion import __version__
from livefusion.cli.probe.finding import Finding, State

NEEDED = ("av", "filterpy", "numba", "numpy", "opencv-python-headless", "pillow", "pydantic", "scipy")
RUNTIMES = ("onnxruntime", "onnxruntime-gpu")
WEBRTC = ("aiortc", "aiohttp")
_REINSTALL = "uv sync --extra cpu --reinstall"


def find_packages() -> list[Finding]:
    """LiveFusion and Python, the libraries it needs, and the one ONNX Runtime that it runs networks with."""
    version = ".".join(map(str, sys.version_info[:3]))
    own = Finding("livefusion", State.OK, f"{__version__} on Python {version} ({sys.platform})")
    return [own, _libraries(), _runtime(), _webrtc(), *_opencv_conflict()]


def version_of(package: str) -> str | None:
    """Installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _libraries() -> Finding:
    versions = {name: version_of(name) for name in NEEDED}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return Finding("libraries", State.BROKEN, f"{', '.join(missing)} missing", _REINSTALL)
    return Finding(
        "libraries", State.OK, ", ".join(f"{name} {version}" for name, version in versions.items())
    )


def _runtime() -> Finding:
    found = {name: version for name in RUNTIMES if (version := version_of(name))}
    if len(found) == 2:
        return Finding(
            "ONNX Runtime",
            State.BROKEN,
            "onnxruntime and onnxruntime-gpu are both installed, and they overwrite each other's files",
            f"{_REINSTALL}, or the same with cuda",
        )
    if not found:
        return Finding("ONNX Runtime", State.BROKEN, "not installed", "uv sync --extra cpu")
    [(name, version)] = found.items()
    return Finding("ONNX Runtime", State.OK, f"{name} {version}")


def _webrtc() -> Finding:
    versions = {name: version_of(name) for name in WEBRTC}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        detail = f"{', '.join(missing)} missing: webrtc: and WHIP need aiortc and aiohttp"
        return Finding("WebRTC", State.LACKING, detail, "uv sync --extra cpu --extra webrtc")
    return Finding("WebRTC", State.OK, ", ".join(f"{name} {version}" for name, version in versions.items()))


def _opencv_conflict() -> list[Finding]:
    """Several OpenCV packages share one folder: the one that was installed last wins, and half of it."""
    others = [
        name
        for distribution in metadata.distributions()
        if re.fullmatch(r"opencv[-_](contrib[-_])?python([-_]headless)?", name := distribution.name or "")
        and name.replace("_", "-") != "opencv-python-headless"
    ]
    if not others:
        return []
    return [
        Finding(
            "OpenCV",
            State.LACKING,
            f"{', '.join(sorted(set(others)))} lies over opencv-python-headless",
            _REINSTALL,
        )
    ]
