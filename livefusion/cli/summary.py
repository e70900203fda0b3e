"""What a run comes to: the report, told in a few lines, and what the user must not overlook in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Report = Mapping[str, Any]


def summary(report: Report) -> str:
    """Frames, latency and outputs of a report (``livefusion.report/1``)."""
    frames, latency, engine = report["frames"], report["latency_ms"]["residence"], report["engine"]
    dropped = sum(frames["dropped"].values())
    lines = [
        f"{frames['delivered']} of {frames['captured']} frames at {report['fps']['out']:.1f} fps: "
        f"{frames['swapped']} swapped, {frames['safe']} covered, "
        f"{dropped} dropped, {frames['repeated']} repeated",
        f"time in the graph: p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms, "
        f"p99 {latency['p99']:.1f} ms ({report['device']['name']}, {engine['name']}, {engine['identity']})",
    ]
    return "\n".join(lines + [_output(output) for output in report["outputs"]])


def warnings(report: Report) -> list[str]:
    """Raw frames, fallbacks and failed outputs, a line each."""
    found = []
    if raw := report["frames"]["raw"]:
        found.append(f"{raw} frames show a known face unaltered")
    found += [
        f"{fallback['got']} instead of {fallback['wanted']}: {fallback['reason']}"
        for fallback in report["device"]["fallbacks"]
    ]
    found += [f"{output['uri']}: {error}" for output in report["outputs"] for error in output["errors"]]
    return found


def _output(output: Report) -> str:
    place = Path(output["uri"])
    shown = place.resolve() if place.is_file() else output["uri"]
    size = f", {output['bytes'] / 1e6:.1f} MB" if output["bytes"] else ""
    return f"→ {shown} ({output['frames']} frames{size})"
