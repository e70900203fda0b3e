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
LEAST_RELEASE, LEAST_CUDA, LEAST_COMPUTE = 580, (13, 0), (7, 5)
"""What the CUDA 13 packages need: R580, and a GPU of the Turing generation (sm_75)."""
NEW_DRIVER = f"install NVIDIA's driver {LEAST_RELEASE} or newer; until then the CPU does the main job"
OLD_GPU = f"CUDA 13 needs compute capability {LEAST_COMPUTE[0]}.{LEAST_COMPUTE[1]}: use --device cpu"
PACKAGES = ("cupy-cuda13x", "onnxruntime-gpu", "nvidia-dali-cuda130", "PyNvVideoCodec")
INSTALL = "uv sync --extra cuda"


def find_cuda() -> list[Finding]:
    """What the driver says, asked in a child process that may hang or crash, and the packages for it."""
    answer = _ask_driver()
    return [*judge_cuda(answer), *judge_packages(has_gpu=bool(answer.get("devices")))]


def judge_cuda(answer: Mapping[str, Any]) -> list[Finding]:
    """The findings behind the child's answer: the driver, then each GPU."""
    if "error" in answer:
        return [Finding("CUDA", State.LACKING, str(answer["error"]), CPU_IS_ENOUGH)]
    if not answer["devices"]:
        return [Finding("CUDA", State.LACKING, "the driver is there, but no GPU", CPU_IS_ENOUGH)]
    gpus = [_gpu(index, device) for index, device in enumerate(answer["devices"])]
    return [_driver(str(answer["release"]), tuple(answer["driver"])), *gpus]


def judge_packages(has_gpu: bool) -> list[Finding]:
    """Whether the packages for the GPU are there; without a GPU and without any of them, nothing."""
    versions = {name: version_of(name) for name in PACKAGES if sys.platform == "linux" or "dali" not in name}
    there = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    missing = ", ".join(name for name, version in versions.items() if not version)
    if not missing:
        return [Finding("CUDA packages", State.OK, there)]
    if not has_gpu and not there:
        return []
    detail = f"{missing} missing" + (f"; there is {there}" if there else "")
    return [Finding("CUDA packages", State.LACKING, detail, INSTALL if has_gpu else CPU_IS_ENOUGH)]


def _driver(release: str, cuda: tuple[int, ...]) -> Finding:
    detail = f"{release or 'release unknown'}, for CUDA up to {cuda[0]}.{cuda[1]}"
    major = release.partition(".")[0]
    is_new = int(major) >= LEAST_RELEASE if major.isdecimal() else cuda >= LEAST_CUDA
    if not is_new:
        return Finding("NVIDIA driver", State.LACKING, f"{detail}: too old for CUDA 13", NEW_DRIVER)
    return Finding("NVIDIA driver", State.OK, detail)


def _gpu(index: int, device: Mapping[str, Any]) -> Finding:
    major, minor = device["compute"]
    detail = f"{device['name']}, {device['memory'] / 2**30:.0f} GB, compute capability {major}.{minor}"
    if (major, minor) < LEAST_COMPUTE:
        return Finding(f"GPU cuda:{index}", State.LACKING, f"{detail}: too old", OLD_GPU)
    return Finding(f"GPU cuda:{index}", State.OK, detail)


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
