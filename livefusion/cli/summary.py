"""What a run comes to: the report, told in a few lines, and what the user must not overlook in it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Report = Mapping[str, Any]


def summary(report: Report) -> str:
    """Pictures, delay and outputs of a report (``livefusion.report/1``), in words for everybody.

    Pictures in are those out and those skipped; pictures out are swapped, covered or without a face.
    """
    frames, delay = report["frames"], report["latency_ms"]["residence"]
    pictures = (
        f"{frames['captured']} pictures in, {frames['delivered']} out: {frames['swapped']} swapped, "
        f"{frames['safe']} covered, {frames['clear']} without a face; "
        f"{sum(frames['dropped'].values())} skipped"
    )
    if frames["repeated"]:
        pictures += f", {frames['repeated']} shown again"
    speed = (
        f"delay {delay['p50']:.0f} ms typically, at most {delay['p95']:.0f} ms for 95 of 100 pictures; "
        f"{report['fps']['out']:.1f} pictures per second, with the face of {report['engine']['identity']}"
    )
    return "\n".join([pictures, speed, *map(_output, report["outputs"])])


def details(report: Report) -> Iterator[str]:
    """What only those who ask with ``-v`` want to know: the percentiles, and what ran where and why."""
    delay, device, engine = report["latency_ms"]["residence"], report["device"], report["engine"]
    yield (
        f"time in the graph: p50 {delay['p50']:.1f} ms, p95 {delay['p95']:.1f} ms, "
        f"p99 {delay['p99']:.1f} ms ({device['name']}, {engine['name']})"
    )
    for work, count in report["restraint"]["left_out"].items():
        if count:
            yield f"{work} was left out of {count} pictures, because pictures came late"
    for fallback in device["fallbacks"]:
        yield f"{fallback['got']} instead of {fallback['wanted']}: {fallback['reason']}"


def warnings(report: Report, said: Callable[[str], bool]) -> Iterator[str]:
    """Raw frames, pictures without faces, stages and outputs that failed, a line each.

    ``said`` tells which errors the user has read already.
    """
    frames = report["frames"]
    if frames["raw"]:
        yield f"{frames['raw']} pictures show a known face unaltered"
    if frames["delivered"] and frames["clear"] == frames["delivered"]:
        yield "no face was found: come closer, face the camera, and give it light"
    for name, stage in report["stages"].items():
        if stage["failures"]:
            errors = stage["errors"] or [f"{name} failed, and its pictures were covered meanwhile"]
            yield from (error for error in errors if not said(error))
    for output in report["outputs"]:
        yield from (error for error in output["errors"] if not said(error))


def _output(output: Report) -> str:
    if not output["frames"]:
        return f"✗ {output['uri']} (nothing was written)"
    place = Path(output["uri"])
    shown = place.resolve() if place.is_file() else output["uri"]
    size = f", {output['bytes'] / 1e6:.1f} MB" if output["bytes"] else ""
    return f"→ {shown} ({output['frames']} pictures{size})"
