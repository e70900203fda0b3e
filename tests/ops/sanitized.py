"""Run tests on a host twin that stops at the first byte beyond an array; for ``test_kernel_sanitizers.py``.

Arguments are those of pytest; the runtime of the sanitizers is preloaded.
"""

import ctypes
import sys
from functools import partial

import pytest

from livefusion.testing import host_twin

_ALIGNMENT = 256
_libc = ctypes.CDLL(None)
_blocks: dict[tuple[int, str], ctypes.c_void_p] = {}


def exact_scratch(twin: host_twin.HostTwin, use: str, size: int) -> int:
    """Memory of that very size, and the last one for the same use given back: neither may be touched."""
    block = ctypes.c_void_p()
    if _libc.posix_memalign(ctypes.byref(block), ctypes.c_size_t(_ALIGNMENT), ctypes.c_size_t(max(1, size))):
        raise MemoryError(f"{size} bytes for {use}")
    _libc.free(_blocks.pop((id(twin), use), None))
    _blocks[id(twin), use] = block
    return block.value or 0


if __name__ == "__main__":
    host_twin.build_twin = partial(host_twin.build_twin, host_twin.SANITIZE)  # type: ignore[assignment]
    host_twin.HostTwin.scratch = exact_scratch  # type: ignore[method-assign]
    # No capture: what the sanitizers say would be lost with the process.
    sys.exit(pytest.main(["-q", "--capture=no", "--no-header", "-p", "no:cacheprovider", *sys.argv[1:]]))
