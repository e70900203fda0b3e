"""ONNX Runtime itself: found, imported late, configured for the live path."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from functools import cache
from typing import Any

from livefusion.core.errors import MachineError

_INSTALL = "start with `uv run --extra cpu livefusion …`, which installs it"
_ONE_OF_TWO = "uninstall both, then install one of the extras cpu and cuda"

_SEVERITY_ERROR = 3

NO_GRAPH = -1
"""The graph id of a run that is neither captured nor replayed."""


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


def session_options(threads: int, *, all_or_nothing: bool = False) -> Any:
    """Return options for one network on one stage's thread.

    On two busy cores a second intra-op thread made every network slower, because ONNX Runtime's threads spin
    while they wait; so one thread is the default, and more never spin. With `all_or_nothing` a session is not
    made unless the wanted provider takes every node: the rest would go to the CPU, with copies in between.
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
    if all_or_nothing:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return options


def run_options(*, wait: bool, graph: int = NO_GRAPH) -> Any:
    """Return options for runs on CUDA.

    Without `wait` a run returns when its work is on the stream. `graph` names the captured graph that a
    binding replays, if the session has graphs; each binding needs its own, for a graph keeps the addresses.
    """
    options = onnxruntime().RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "0" if wait else "1")
    options.add_run_config_entry("gpu_graph_id", str(graph))
    return options
