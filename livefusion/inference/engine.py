"""ONNX Runtime itself: found, imported late, configured for the live path, its exceptions translated."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from livefusion.core.errors import DeviceError, MachineError, ModelError

_INSTALL = "start with `uv run --extra cpu livefusion …`, which installs it"
_ONE_OF_TWO = "uninstall both, then install one of the extras cpu and cuda"

CPU_PROVIDER = "CPUExecutionProvider"
CUDA_PROVIDER = "CUDAExecutionProvider"

_SEVERITY_ERROR = 3


@cache
def onnxruntime() -> Any:
    """Import ONNX Runtime once (75 ms) and return the module.

    Raises MachineError when it is missing, broken or installed twice over: onnxruntime and onnxruntime-gpu
    write the same files, and whichever came last wins silently. Its telemetry is off, which has to be said
    before the import: that alone wrote a device's id and the path of Python to the user's cache folder.
    """
    if _is_installed("onnxruntime") and _is_installed("onnxruntime-gpu"):
        raise MachineError(
            "onnxruntime and onnxruntime-gpu are both installed and overwrite each other", _ONE_OF_TWO
        )
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        module = importlib.import_module("onnxruntime")
    except ImportError as error:
        reason = "is not installed" if isinstance(error, ModuleNotFoundError) else f"does not load ({error})"
        raise MachineError(f"onnxruntime {reason}", _INSTALL) from error
    module.set_default_logger_severity(_SEVERITY_ERROR)
    return module


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def provider_for(device_name: str, stream: int | None = None) -> tuple[str, dict[str, str]]:
    """Return the execution provider of a device name (`cpu`, `cuda`, `cuda:1`) and its options.

    `stream` is a CUDA stream handle on which the network runs, so that it orders with the caller's kernels.
    Raises DeviceError for another name, or when this build of ONNX Runtime lacks the provider.
    """
    kind, _, index = device_name.partition(":")
    if kind == "cpu" and not index:
        return CPU_PROVIDER, {}
    if kind != "cuda" or not (index or "0").isdecimal():
        raise DeviceError(f"no inference device is called {device_name!r}", "use cpu, cuda or cuda:N")
    if CUDA_PROVIDER not in onnxruntime().get_available_providers():
        raise DeviceError(
            "this onnxruntime cannot use CUDA", "install the extra cuda instead of cpu, or use --device cpu"
        )
    options = {"device_id": index or "0"}
    if stream is not None:
        options["user_compute_stream"] = str(stream)
    return CUDA_PROVIDER, options


def session_options(threads: int) -> Any:
    """Return options for one network on one stage's thread.

    On two busy cores a second intra-op thread made every network slower, because ONNX Runtime's threads spin
    while they wait; so one thread is the default, and more never spin.
    """
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = _SEVERITY_ERROR
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return options


@cache
def _foreign_errors() -> tuple[type[Exception], ...]:
    # ONNX Runtime's exceptions share no base class of their own.
    onnxruntime()
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    found = (value for value in vars(state).values() if isinstance(value, type))
    own = tuple(value for value in found if issubclass(value, Exception))
    return (*own, RuntimeError, ValueError)


@contextmanager
def translated(model: str, *, loading: bool = False) -> Iterator[None]:
    """Translate what ONNX Runtime raises: to ModelError while loading, to DeviceError while running."""
    try:
        yield
    except _foreign_errors() as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if loading:
            raise ModelError(
                f"onnxruntime cannot load model {model} ({reason})", "run `livefusion models check`"
            ) from error
        raise DeviceError(
            f"model {model} failed while running ({reason})", "run `livefusion doctor`"
        ) from error
