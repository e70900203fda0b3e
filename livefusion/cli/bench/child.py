"""Runs `livefusion run` as a user would, in a process of its own, and reads its report."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from livefusion.core.errors import GraphError

SAMPLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ChildRun:
    """What a run came to: its report, when the process was started, and its memory over time.

    ``spawned_ns`` is monotonic; ``memory`` holds (seconds since the start, resident MiB).
    """

    report: dict[str, Any]
    spawned_ns: int
    memory: list[tuple[float, float]] = field(default_factory=list)


def run_child(
    arguments: list[str], report: Path, *, environment: Mapping[str, str] | None = None
) -> ChildRun:
    """Run to the end, with this process's variables if no others are given; ``GraphError`` if it fails."""
    command = [sys.executable, "-m", "livefusion", "run", *arguments, "--report", str(report)]
    spawned_ns = time.monotonic_ns()
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **streams) as child:
        memory = _watch(child, spawned_ns)
        problem = child.stderr.read() if child.stderr else ""
    if child.returncode:
        raise GraphError(f"`livefusion run` ended with {child.returncode}", problem.strip()[-500:])
    return ChildRun(json.loads(report.read_text(encoding="utf-8")), spawned_ns, memory)


def _watch(child: "subprocess.Popen[str]", spawned_ns: int) -> list[tuple[float, float]]:
    process = psutil.Process(child.pid)
    samples: list[tuple[float, float]] = []
    while True:
        try:
            child.wait(timeout=SAMPLE_SECONDS)
            return samples
        except subprocess.TimeoutExpired:
            seconds = (time.monotonic_ns() - spawned_ns) / 1e9
            samples.append((seconds, process.memory_info().rss / 2**20))
