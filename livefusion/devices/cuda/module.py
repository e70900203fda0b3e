"""The kernels on one GPU: a prebuilt binary, one compiled before, or one compiled now."""

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import platformdirs

from livefusion.core.errors import DeviceError
from livefusion.devices.cuda.library import DOCTOR
from livefusion.devices.kernels import FOLDER, kernel_names, kernel_source, source_digest

_log = logging.getLogger(__name__)

STANDARD = "--std=c++17"
_ELF = b"\x7fELF"
PREBUILT = FOLDER / "livefusion.fatbin"
"""Made by ``tools/build_kernels.py``, with the digest of its source in a file beside it."""


class KernelModule:
    """Kernels by name, for the threads of one process; loaded into the primary context of a GPU.

    The driver loads each one when its handle is asked for, which may wait for all streams and is forbidden
    while one is captured: so all are asked for at once.
    """

    def __init__(self, driver: Any, image: bytes) -> None:
        module = driver.moduleLoadData(image)
        self._functions = {name: int(driver.moduleGetFunction(module, name)) for name in kernel_names()}
        self._at = {name: int(driver.moduleGetFunction(module, f"{name}_at")) for name in kernel_names()}

    def __getitem__(self, name: str) -> int:
        """Handle of a kernel."""
        return self._functions[name]

    def at(self, name: str) -> int:
        """Handle of the same kernel that finds its arguments at an address."""
        return self._at[name]


def load_kernels(cupy: Any, capability: str) -> KernelModule:
    """The kernels for a compute capability such as ``90``. ``DeviceError`` if they cannot be compiled."""
    driver = cupy.cuda.driver
    prebuilt = _prebuilt()
    if prebuilt is not None:
        try:
            return KernelModule(driver, prebuilt)
        except driver.CUDADriverError as error:  # made before there was such a GPU
            _log.info("the prebuilt kernels are not for sm_%s (%s)", capability, error)
    kept = _cache(cupy, capability)
    try:
        image = kept.read_bytes()
        if image[:4] == _ELF:
            return KernelModule(driver, image)
        _log.info("%s is no binary and is made anew", kept.name)
    except driver.CUDADriverError as error:
        _log.info("%s does not load and is made anew (%s)", kept.name, error)
    except OSError:
        _log.debug("%s is not there yet", kept.name)
    image = compile_kernels(cupy.cuda.nvrtc, capability)
    _keep(kept, image)
    return KernelModule(driver, image)


def _prebuilt() -> bytes | None:
    digest = PREBUILT.with_suffix(".digest")
    if not (PREBUILT.is_file() and digest.is_file()):
        return None
    if digest.read_text(encoding="ascii").strip() != source_digest():
        _log.info("%s was made of another source and is left alone", PREBUILT.name)
        return None
    return PREBUILT.read_bytes()


def _cache(cupy: Any, capability: str) -> Path:
    """Where the binary that NVRTC makes is kept: the first start on a machine takes 2 s.

    ``DeviceError`` if there is no NVRTC.
    """
    try:
        version = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
    except (RuntimeError, ImportError) as error:  # CuPy looks for the library here for the first time
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DeviceError(f"NVRTC, which compiles the kernels, does not load ({reason})", DOCTOR) from error
    folder = platformdirs.user_cache_path("livefusion") / "kernels"
    return folder / f"{source_digest()}-sm_{capability}-nvrtc-{version}.cubin"


def _keep(path: Path, image: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(image)
        Path(name).replace(path)  # whole or not at all: another process may be reading it
    except OSError as error:
        _log.info("compiled kernels cannot be kept (%s): the next start will be as slow", error)


def compile_kernels(nvrtc: Any, capability: str) -> bytes:
    """A cubin for one architecture. ``DeviceError`` with the compiler's first complaint."""
    program = nvrtc.createProgram(kernel_source(), "livefusion.cu", (), ())
    try:
        nvrtc.compileProgram(program, (STANDARD, f"-arch=sm_{capability}"))
        image: bytes = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        said = str(nvrtc.getProgramLog(program)).strip() or str(error)
        raise DeviceError(
            f"NVRTC cannot compile the kernels for sm_{capability} ({said.splitlines()[0]})", DOCTOR
        ) from error
    finally:
        nvrtc.destroyProgram(program)
    return image
