"""ONNX Runtime on an NVIDIA GPU: the options of its provider, and the libraries that it loads."""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from livefusion.core.errors import DeviceError
from livefusion.inference.engine import onnxruntime

_log = logging.getLogger(__name__)

CUDA_PROVIDER: Final = "CUDAExecutionProvider"

MEMORY_LIMIT: Final = 2 << 30
"""Bytes that one network may take: many times what those here need (weights below 40 MB in float32), and few
enough to leave the codecs their share of a card of 8 GB."""

_INSTALL = "start with `uv run --extra cuda livefusion …`, or use --device cpu"
_DRIVER = "install the NVIDIA driver, 580 or newer, or use --device cpu"

_WINDOWS = sys.platform == "win32"
_LIBRARY = "{}.dll" if _WINDOWS else "lib{}.so"
_CUDNN = "cudnn64_9.dll" if _WINDOWS else "libcudnn.so.9"


@dataclass(frozen=True, slots=True)
class CudaOptions:
    """How a network runs on a GPU.

    ``index`` is the GPU's number, ``stream`` the ``cudaStream_t`` that the network runs on (its own if left
    out), ``graphs`` has runs with a graph id captured and replayed. ``tf32`` rounds float32 to ten bits in
    convolutions: networks of a GFLOP gain too little from it for landmarks that differ from the CPU's.
    """

    index: int = 0
    stream: int | None = None
    memory_limit: int = MEMORY_LIMIT
    graphs: bool = False
    tf32: bool = False

    def provider_options(self) -> dict[str, str]:
        """The options as ONNX Runtime's CUDA provider takes them."""
        options = {
            "device_id": str(self.index),
            "gpu_mem_limit": str(self.memory_limit),
            # The default doubles the arena each time it grows.
            "arena_extend_strategy": "kSameAsRequested",
            # The default tries every algorithm of every layer: many seconds, and gigabytes for a moment.
            "cudnn_conv_algo_search": "HEURISTIC",
            "use_tf32": str(int(self.tf32)),
            "enable_cuda_graph": str(int(self.graphs)),
        }
        if self.stream is not None:
            options["user_compute_stream"] = str(self.stream)
            # The default stream does not wait for streams such as ours, nor they for it.
            options["do_copy_in_default_stream"] = "0"
        return options


@cache
def load_cuda() -> None:
    """Load the CUDA provider and all that it needs, once.

    ONNX Runtime would log what is missing, if anything, and go on with the CPU. ``DeviceError`` names it.
    """
    runtime = onnxruntime()
    if CUDA_PROVIDER not in runtime.get_available_providers():
        raise DeviceError(
            "this onnxruntime cannot use CUDA", "install the extra cuda instead of cpu, or use --device cpu"
        )
    _preload(runtime)
    folder = Path(runtime.__file__).parent / "capi"
    _load(str(folder / _LIBRARY.format("onnxruntime_providers_shared")), ctypes.RTLD_GLOBAL)
    _load(str(folder / _LIBRARY.format("onnxruntime_providers_cuda")))
    _load(_CUDNN)  # looked for by ONNX Runtime only when the first convolution runs


def _preload(runtime: Any) -> None:
    # It finds the libraries in the wheels of NVIDIA, which no loader would, and prints what it does not find.
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runtime.preload_dlls()
    for line in printed.getvalue().splitlines():
        _log.debug("onnxruntime: %s", line)


def _load(library: str, mode: int = ctypes.DEFAULT_MODE) -> None:
    try:
        ctypes.CDLL(library, mode)
    except OSError as error:
        missing = _missing(str(error), library)
        is_driver = "libcuda.so" in missing or "nvcuda" in missing
        raise DeviceError(
            f"onnxruntime cannot use CUDA, because {missing} is missing or does not load",
            _DRIVER if is_driver else _INSTALL,
        ) from error


def _missing(reason: str, library: str) -> str:
    """The library that a loader complains of, which need not be the one that was asked for."""
    found = re.match(r"([\w.+-]+\.so[\w.]*): cannot open", reason)
    return found.group(1) if found else Path(library).name
