"""The product's own graph: the pictures of the GPU against those of the CPU, and a live run at 1080p60."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, SkippedError, at_most, exactly

_NEEDS = ("av", "cv2", "filterpy", "numba", "onnxruntime", "pydantic", "scipy")
_FRAMES, _SECONDS, _FPS = 30, 17, 60
_SMALL = "performer:?size=640x360&fps=30&face=150&seed=5"
_LIVE = f"performer:?size=1920x1080&fps={_FPS}&face=255&seed=5"


def check(machine: Machine) -> list[Row]:
    """Differences and latencies."""
    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        raise SkippedError(f"{', '.join(missing)} not installed")
    return [*_compared(machine), *([] if machine.stands_in else _live(machine))]


def _compared(machine: Machine) -> list[Row]:
    from livefusion.devices.cpu import CpuDevice

    frames = 4 if machine.fast else _FRAMES
    wanted, _ = _pictures(CpuDevice(), frames)
    got, fallbacks = _pictures(_device(machine), frames)
    if fallbacks:
        raise SkippedError(f"the graph did not run on the GPU: {fallbacks[0]['reason']}")
    away = [np.abs(one.luma.astype(int) - other.luma) for one, other in zip(wanted, got, strict=False)]
    mean = max((float(one.mean()) for one in away), default=float("nan"))
    same = sum(one.outcome is other.outcome for one, other in zip(wanted, got, strict=False))
    return [
        exactly("graph", f"of {frames} pictures, swapped as on the CPU", same, frames),
        at_most("graph", "worst mean difference of luma from the CPU", mean, 0.1, "levels"),
    ]


def _pictures(device: Any, frames: int) -> tuple[Sequence[Any], Sequence[dict[str, str]]]:
    from livefusion.core.settings import Pace, Settings
    from livefusion.faces.kalman import LIBRARY
    from livefusion.media.sinks.memory import MemorySink
    from livefusion.media.sources.performer import PerformerSource
    from livefusion.pipeline.assemble import Pipeline
    from livefusion.pipeline.parts import Parts
    from livefusion.testing.mark import fixed_mark

    LIBRARY.filter_type()
    sinks: list[MemorySink] = []

    def make_sink(where: Any, form: Any) -> MemorySink:
        sinks.append(MemorySink(where))
        return sinks[0]

    def make_source(where: Any) -> PerformerSource:
        return PerformerSource(_SMALL, where, pace=Pace.FAST, duration=frames / 30)

    settings = Settings(input=_SMALL, pace=Pace.FAST)
    parts = Parts(device=device, source=make_source, sinks=[make_sink], mark=fixed_mark)
    pipeline = Pipeline(settings, parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    return list(sinks[0].pictures), pipeline.report()["device"]["fallbacks"]


def _live(machine: Machine) -> list[Row]:
    from livefusion.core.settings import Pace, Settings
    from livefusion.pipeline.assemble import Pipeline
    from livefusion.pipeline.parts import Parts

    settings = Settings(input=_LIVE, output=("null:",), pace=Pace.REALTIME, duration=_SECONDS)
    pipeline = Pipeline(settings, parts=Parts(device=machine.device))
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    report = pipeline.report()
    residence = report["latency_ms"]["residence"]
    dropped = sum(report["frames"]["dropped"].values())
    return [
        Row("graph", "1080p60 live: captured, dropped", f"{report['frames']['captured']}, {dropped}"),
        Row("graph", "1080p60 live: residence p50", f"{residence['p50']:.1f} ms"),
        at_most("graph", "1080p60 live: residence p95", residence["p95"], 1000 / _FPS, "ms", digits=1),
        at_most("graph", "1080p60 live: residence p99", residence["p99"], 1000 / _FPS, "ms", digits=1),
    ]


def _device(machine: Machine) -> Any:
    if not machine.stands_in:
        return machine.device
    from livefusion.testing.twin_device import TwinDevice

    return TwinDevice()
