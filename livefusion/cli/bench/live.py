"""The main job in real time: a clip, a persona, an encoded file; paced as a camera would pace it."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from livefusion.cli.bench.child import run_child
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.geometry import Size
from livefusion.testing.performer_clip import render_clip


@dataclass(frozen=True, slots=True)
class Case:
    """One clip, and the bars that its figures are held against."""

    size: Size
    fps: int
    face: int
    bars: dict[str, str]

    @property
    def name(self) -> str:
        """For example ``1280x720 at 30, face 170``."""
        return f"{self.size} at {self.fps}, face {self.face}"


CASES = (
    Case(Size(1280, 720), 30, 170, {"dropped": "= 0", "p95": "≤ 20"}),
    Case(Size(1280, 720), 30, 450, {"dropped": "= 0", "p95": "< 33.3", "p99": "< 50", "render p95": "≤ 10"}),
    Case(Size(1920, 1080), 30, 250, {}),
    Case(Size(1280, 720), 60, 170, {}),
)


def measure(options: BenchOptions) -> list[Figure]:
    """Run every case in turn."""
    return [figure for case in CASES for figure in _measure_case(case, options)]


def clip(case: Case, seconds: float, options: BenchOptions) -> Path:
    """The clip of a case, rendered once and kept in the folder."""
    name = f"performer-{case.size}-{case.fps}-{case.face}-{seconds:g}s-{options.seed}.mp4"
    path = options.folder / name
    if not path.exists():
        options.note(f"rendering {name}")
        part = path.with_suffix(".part.mp4")
        render_clip(part, case.size, Fraction(case.fps), case.face, seconds, options.seed)
        part.replace(path)
    return path


def _measure_case(case: Case, options: BenchOptions) -> list[Figure]:
    source = clip(case, options.seconds, options)
    options.note(f"running {case.name} for {options.seconds:g} s")
    output = options.folder / f"live-{case.size}-{case.fps}-{case.face}.mp4"
    arguments = ["-i", str(source), "-o", str(output), "--pace", "realtime"]
    report = run_child(arguments, options.folder / "report.json").report
    if not options.keep:
        output.unlink()
    frames, latency, stages = report["frames"], report["latency_ms"], report["latency_ms"]["stages"]
    rows = [
        ("dropped", sum(frames["dropped"].values()), "frames", case.bars.get("dropped", "")),
        ("captured", frames["captured"], "frames", ""),
        ("swapped", frames["swapped"], "frames", ""),
        ("covered", frames["safe"], "frames", ""),
        ("raw", frames["raw"], "frames", "= 0"),
        ("repeated", frames["repeated"], "frames", ""),
        ("residence p50", latency["residence"]["p50"], "ms", ""),
        ("residence p95", latency["residence"]["p95"], "ms", case.bars.get("p95", "")),
        ("residence p99", latency["residence"]["p99"], "ms", case.bars.get("p99", "")),
        ("with encoding p50", latency["written"]["p50"], "ms", ""),
        ("with encoding p95", latency["written"]["p95"], "ms", case.bars.get("p95", "")),
        ("with encoding p99", latency["written"]["p99"], "ms", case.bars.get("p99", "")),
        *((f"{name} p50", stages[name]["p50"], "ms", "") for name in ("decode", "analyse", "render")),
        ("render p95", stages["render"]["p95"], "ms", case.bars.get("render p95", "")),
        ("encode p50", stages[str(output)]["p50"], "ms", ""),
        ("cores", report["cpu"]["cores"], "", ""),
    ]
    return [Figure(case.name, *row) for row in rows]
