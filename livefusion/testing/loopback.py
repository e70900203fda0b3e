"""A virtual camera where there is none: pyvirtualcam's own code on a device that a library imitates."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import livefusion.testing
from livefusion.core.errors import MachineError

DEVICE = "/dev/video7"
_SOURCE = Path(livefusion.testing.__file__).with_name("v4l2_loopback_shim.c")


def build_loopback(folder: Path) -> Path:
    """Compile the library into a folder. ``MachineError`` if there is no gcc, or it is no Linux."""
    compiler = shutil.which("gcc")
    if compiler is None or not Path("/proc/self/fd").exists():
        raise MachineError("a virtual camera is imitated with gcc, on Linux", "install gcc")
    library = folder / "v4l2_loopback_shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-ldl"], check=True)
    return library


def loopback_environment(
    library: Path, output: Path, *, fault: str = "", log: Path | None = None
) -> dict[str, str]:
    """Variables of a process in which ``DEVICE`` is a virtual camera whose pictures land in ``output``.

    ``fault`` and ``log`` are explained in the library's source.
    """
    variables = {"LD_PRELOAD": str(library), "SHIM_DEVICE": DEVICE, "SHIM_OUTPUT": str(output)}
    variables |= {"SHIM_FAULT": fault} if fault else {}
    variables |= {"SHIM_LOG": str(log)} if log is not None else {}
    return {**os.environ, **variables}


@dataclass(frozen=True, slots=True)
class LoopbackWrite:
    """When a picture was written, monotonic, and the bytes taken: below 0 if refused, 0 if it now hangs."""

    at_ns: int
    taken: int


def read_log(log: Path) -> list[LoopbackWrite]:
    """What the library noted; nothing if no picture came."""
    if not log.exists():
        return []
    rows = (line.split() for line in log.read_text(encoding="ascii").splitlines())
    return [LoopbackWrite(int(at), int(taken)) for at, taken in rows]
