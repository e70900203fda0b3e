"""A driver without a GPU: libraries with the symbols that a wheel asks of the driver, each of which fails."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_UNDEFINED = re.compile(r"\bU (cu[A-Z]\w*)$", re.MULTILINE)
_NO_DEVICE = 100
"""``CUDA_ERROR_NO_DEVICE``."""
_NVENC_API = 13 << 4
"""Version 13.0, as the driver tells it."""
_NVENC = """
int NvEncodeAPIGetMaxSupportedVersion(unsigned *version) {{ *version = {api}; return 0; }}
int NvEncodeAPICreateInstance(void *functions) {{ (void)functions; return {status}; }}
"""


def build_stubs(extensions: Iterable[Path], folder: Path, nvenc_status: int) -> dict[str, str]:
    """Compile the libraries into a folder; the environment in which a process finds them.

    ``nvenc_status`` is what opening the encoder's interface gives, one of ``NVENCSTATUS``.
    """
    symbols: set[str] = set()
    for extension in extensions:
        listed = subprocess.run(
            ["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True
        )
        symbols |= set(_UNDEFINED.findall(listed.stdout))
    _compile(
        folder / "libcuda.so.1", "\n".join(f"int {name}(void) {{ return {_NO_DEVICE}; }}" for name in symbols)
    )
    _compile(folder / "libnvidia-encode.so.1", _NVENC.format(api=_NVENC_API, status=nvenc_status))
    return os.environ | {"LD_LIBRARY_PATH": str(folder)}


def _compile(library: Path, source: str) -> None:
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, f"-Wl,-soname,{library.name}"]
    subprocess.run(command, input=source, text=True, check=True)
