"""Names for Nsight's timeline."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

_PROFILER = "NSYS_PROFILING_SESSION_ID"
_NOTHING: AbstractContextManager[None] = nullcontext()


def annotator(cupy: Any) -> Callable[[str], AbstractContextManager[None]]:
    """What marks a span of host time by a name; it does nothing unless Nsight Systems runs this process."""
    if _PROFILER not in os.environ or not cupy.cuda.nvtx.available:
        return lambda _name: _NOTHING

    @contextmanager
    def annotate(name: str) -> Any:
        cupy.cuda.nvtx.RangePush(name)
        try:
            yield
        finally:
            cupy.cuda.nvtx.RangePop()

    return annotate
