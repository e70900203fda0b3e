"""Is there an NVIDIA GPU, and can this installation use it?"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livefusion.cli.probe.finding import Finding, State
from livefusion.cli.probe.packages import version_of

CHILD = Path(__file__).with_name("cuda_child.py")
PATIENCE = 15.0
"""Seconds; a driver that wakes a sleeping GPU takes up to ten."""
CPU_IS_ENOUGH = "nothing to do: the CPU does the main job"


def find_cuda() -> list[Finding]:
    """What the driver says, asked in a child process that may hang or crash."""
    return [judge_cuda(_ask_driver())]


def judge_cuda(answer: Mapping[str, Any]) -> Finding:
    """The finding behind the child's answer."""
    if "error" in answer:
        return Finding("CUDA", State.LACKING, str(answer["error"]), CPU_IS_ENOUGH)
    if not answer["devices"]:
        return Finding("CUDA", State.LACKING, "the driver is there, but no GPU", CPU_IS_ENOUGH)
    names = ", ".join(map(_device, answer["devices"]))
    detail = f"{names}, driver for CUDA {answer['driver'][0]}.{answer['driver'][1]}"
    if version_of("onnxruntime-gpu") is None:
        remedy = (
            "this installation is the one for the CPU; that for the GPU is `uv run --extra cuda livefusion …`"
        )
        return Finding("CUDA", State.LACKING, detail, remedy)
    return Finding("CUDA", State.OK, detail)


def _device(device: Mapping[str, Any]) -> str:
    major, minor = device["compute"]
    return f"{device['name']} ({device['memory'] / 2**30:.0f} GB, sm_{major}{minor})"


def _ask_driver() -> Mapping[str, Any]:
    try:
        child = subprocess.run(
            [sys.executable, "-I", str(CHILD)], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"the NVIDIA driver does not answer within {PATIENCE:.0f} s"}
    try:
        answer: dict[str, Any] = json.loads(child.stdout)
    except json.JSONDecodeError:
        return {"error": f"the NVIDIA driver crashed (exit status {child.returncode})"}
    return answer
