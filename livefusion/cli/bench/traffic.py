"""Bytes that the graph moves in the memory of a GPU for each 1080p frame, counted on a simulated one."""

from collections import Counter
from dataclasses import dataclass

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.geometry import Size
from livefusion.testing.sim_graph import run_graph
from livefusion.testing.sim_route import Route
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.traffic import TrafficDevice

SIZE = Size(1920, 1080)
_SHORT, _LONG = 12, 42
_ENGINES = ("nvdec", "nvenc")
"""What the GPU's own engines move, which no graph can change; told, but not held against the bar."""


@dataclass(frozen=True, slots=True)
class _Case:
    face: int
    bar: str


# Of 170 pixels in 720p, as in the bench of live runs, and one that fills the picture's height by half.
_CASES = (_Case(255, "≤ 11"), _Case(450, ""))


def measure(options: BenchOptions) -> list[Figure]:
    """Decoded and encoded by the stand-ins of NVDEC and NVENC, computed by the kernels on the host."""
    return [figure for case in _CASES for figure in _measure_case(case, options)]


def _measure_case(case: _Case, options: BenchOptions) -> list[Figure]:
    scenario = f"traffic, {SIZE}, face {case.face}"
    route = Route("chip", from_file=True, on_chip=True, size=SIZE, face=case.face, watched=False)
    options.note(f"{scenario}: {_SHORT} and {_LONG} frames")
    first, last = (_moved(route, frames, options.seed) for frames in (_SHORT, _LONG))
    # What is moved once, for warming up, falls out of the difference.
    moved = {work: (last[work] - first[work]) / (_LONG - _SHORT) / 1e6 for work in last}
    ours = {work: size for work, size in moved.items() if not work.endswith(_ENGINES)}
    rows = [
        Figure(scenario, work, size, "MB")
        for work, size in sorted(moved.items(), key=lambda item: -item[1])
        if size >= 0.001
    ]
    return [*rows, Figure(scenario, "in all, without the engines", sum(ours.values()), "MB", case.bar)]


def _moved(route: Route, frames: int, seed: int) -> Counter[str]:
    device = TrafficDevice(SimDevice(seed, kind="cuda"))
    run_graph(device, seed, frames, route)
    return device.moved
