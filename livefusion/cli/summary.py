"""What a run comes to: the report, told in a few lines, and what the user must not overlook in it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Report = Mapping[str, Any]


def summary(report: Report) -> str:
    """Frames, latency, device and outputs of a report (``livefusion.report/1``)."""
    frames, latency, engine = report["frames"], report["latency_ms"]["residence"], report["engine"]
    device, dropped = report["device"], sum(frames["dropped"].values())
    lines = [
        f"{frames['delivered']} of {frames['captured']} frames at {report['fps']['out']:.1f} fps: "
        f"{frames['swapped']} swapped, {frames['safe']} covered, {frames['clear']} without a face, "
        f"{dropped} dropped, {frames['repeated']} repeated",
        f"time in the graph: p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms, "
        f"p99 {latency['p99']:.1f} ms ({device['name']}, {engine['name']}, {engine['identity']})",
    ]
    lines += [
        f"{fallback['got']} instead of {fallback['wanted']}: {fallback['reason']}"
        for fallback in device["fallbacks"]
    ]
    return "\n".join(lines + [_output(output) for output in report["outputs"]])


def warnings(report: Report, said: Callable[[str], bool]) -> Iterator[str]:
    """Raw frames, pictures without faces, stages and outputs that failed, a line each.

    ``said`` tells which errors the user has read already.
    """
    frames = report["frames"]
    if frames["raw"]:
        yield f"{frames['raw']} frames show a known face unaltered"
    if frames["delivered"] and frames["clear"] == frames["delivered"]:
        yield "no face was found: come closer, face the camera, and give it light"
    for name, stage in report["stages"].items():
        if stage["failures"]:
            errors = stage["errors"] or [f"{name} failed, and its pictures were covered meanwhile"]
            yield from (error for error in errors if not said(error))
    for output in report["outputs"]:
        yield from (error for error in output["errors"] if not said(error))


def _output(output: Report) -> str:
    place = Path(output["uri"])
    shown = place.resolve() if place.is_file() else output["uri"]
    size = f", {output['bytes'] / 1e6:.1f} MB" if output["bytes"] else ""
    return f"→ {shown} ({output['frames']} frames{size})"
