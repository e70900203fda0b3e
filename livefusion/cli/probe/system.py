"""Processor, memory, the font of the badge, and the folder for identities."""

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from livefusion.cli.probe.finding import Finding, State
from livefusion.core.home import user_home

ENOUGH_CORES = 2
FAST = ("AVX2", "AVX512", "NEON")
"""Instruction sets that the pixel operators are built for; one of them is enough."""
ENOUGH_MEMORY = 2e9
"""Bytes; a run at 1080p holds about 0.6 GB, the rest is for the system and a browser."""


def find_system() -> list[Finding]:
    """What a run on the CPU depends on."""
    return [_processor(), _memory(), _font(), _home()]


def usable_cores() -> int:
    """Logical cores that this process may use, which in a container are fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _processor() -> Finding:
    import cv2

    cores = usable_cores()
    # "SSE SSE2 *AVX2 *AVX512-SKX?": a star where OpenCV dispatches, a question mark where the CPU lacks it.
    features = [word.lstrip("*") for word in cv2.getCPUFeaturesLine().split()]
    found = [name for name in FAST if any(word.startswith(name) and word[-1] != "?" for word in features)]
    detail = f"{_processor_name()}, {cores} cores, {', '.join(found) or 'no AVX2'}"
    if cores < ENOUGH_CORES:
        return Finding("processor", State.LACKING, detail, "720p30 needs two cores: use --size 640x360")
    if not found:
        return Finding(
            "processor", State.LACKING, detail, "without AVX2 or NEON it is slow: use --size 640x360"
        )
    return Finding("processor", State.OK, detail)


def _processor_name() -> str:
    if sys.platform == "linux":
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if match := re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE):
            return match[1].strip()
    if sys.platform == "darwin":
        query = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        answer = subprocess.run(query, capture_output=True, text=True, timeout=5, check=False)
        if answer.stdout.strip():
            return answer.stdout.strip()
    return platform.processor() or platform.machine()


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    detail = f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB free"
    if memory.available < ENOUGH_MEMORY:
        return Finding("memory", State.LACKING, detail, "close other programs")
    return Finding("memory", State.OK, detail)


def _font() -> Finding:
    from PIL import features

    if features.check("freetype2"):
        return Finding("badge font", State.OK, "comes with Pillow")
    return Finding(
        "badge font", State.BROKEN, "this Pillow cannot draw text", "pip install --force-reinstall pillow"
    )


def _home() -> Finding:
    home = user_home()
    nearest = next(folder for folder in (home, *home.absolute().parents) if folder.is_dir())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return Finding("identities", State.OK, f"kept in {home / 'identities'}")
    except OSError as error:
        remedy = "set LIVEFUSION_HOME to a folder of yours"
        return Finding("identities", State.LACKING, f"cannot write to {nearest} ({error.strerror})", remedy)
