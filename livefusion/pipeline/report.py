"""The report of a run, schema ``livefusion.report/1``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import livefusion
from livefusion.core.face import Identity
from livefusion.core.frame import Outcome
from livefusion.core.settings import Settings
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.faces.analyse import FaceCounts
from livefusion.inference.session import Session
from livefusion.media.formats import InputFormat
from livefusion.media.sources.uri import redact
from livefusion.pipeline.gate import GateCounts
from livefusion.pipeline.witness import Output
from livefusion.provenance.watermark import Watermark
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.latency import LatencySummary
from livefusion.runtime.snapshot import GraphSnapshot, SinkSnapshot
from livefusion.swap.neural.enhance_standby import Enhancer

SCHEMA = "livefusion.report/1"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the pipeline knows beside the figures of its graph."""

    settings: Settings
    format: InputFormat | None
    device: Device
    device_peak_mb: float
    fallbacks: tuple[Fallback, ...]
    identity: Identity | None
    networks: tuple[Session, ...]
    engine: str
    counts: FaceCounts | None
    outputs: Mapping[str, Output]
    rss_peak_mb: float
    cores: float
    started_ns: int
    encoders: int = 0
    ladder: DeadlineLadder | None = None
    enhancer: Enhancer | None = None
    mark: Watermark | None = None
    gate: GateCounts | None = None


def build_report(facts: Facts, graph: GraphSnapshot | None) -> dict[str, Any]:
    """The report as plain JSON values; without a graph, that of a run that never began."""
    return {
        "schema": SCHEMA,
        "version": livefusion.__version__,
        "input": _input(facts, graph),
        "device": _device(facts),
        "engine": _engine(facts),
        "enhancer": _enhancer(facts.enhancer),
        "badge": facts.settings.safety.badge,
        "watermark": facts.mark.payload.as_report() if facts.mark else None,
        "gate": asdict(facts.gate) if facts.gate else None,
        "frames": _frames(facts, graph),
        "latency_ms": _latency(graph),
        "fps": _fps(facts, graph),
        "faces": asdict(facts.counts or FaceCounts()),
        "outputs": [_output(name, output, graph) for name, output in facts.outputs.items()],
        "encoders": facts.encoders + sum(one.stats.encoders for one in facts.outputs.values()),
        "stages": _stages(graph),
        "restraint": _restraint(facts.ladder),
        "memory": {
            "rss_peak_mb": round(facts.rss_peak_mb, 1),
            "device_peak_mb": round(facts.device_peak_mb, 1),
        },
        "cpu": {"cores": round(facts.cores, 3)},
        "first_swapped": _first_swapped(facts),
    }


def _input(facts: Facts, graph: GraphSnapshot | None) -> dict[str, Any]:
    described: dict[str, Any] = {
        "uri": redact(facts.settings.input),
        "frames": graph.captured if graph else 0,
    }
    if facts.format is not None:
        described |= {
            "width": facts.format.size.width,
            "height": facts.format.size.height,
            "fps": round(float(facts.format.fps), 3),
            "rotation": facts.format.rotation,
            "color": {"matrix": facts.format.color.matrix.value, "range": facts.format.color.range.value},
            "note": facts.format.note,
        }
    return described


def _device(facts: Facts) -> dict[str, Any]:
    """What the run computes on now, and each thing that runs otherwise than it best would."""
    return {
        "name": facts.device.name,
        "description": facts.device.description,
        "fallbacks": [asdict(fallback) for fallback in dict.fromkeys(facts.fallbacks)],
    }


def _engine(facts: Facts) -> dict[str, Any]:
    identity = facts.identity
    return {
        "name": facts.engine,
        "identity": identity.label if identity else "",
        "consent": identity.consent if identity else None,
        "models": [
            {
                "name": network.entry.name,
                "sha256": network.entry.sha256,
                "provider": network.placement.provider,
                "precision": network.precision,
            }
            for network in facts.networks
        ],
    }


def _enhancer(enhancer: Enhancer | None) -> dict[str, Any] | None:
    """What was restored, and what not; ``failure`` is why nothing is, None if something may be."""
    if enhancer is None:
        return None
    failure = enhancer.failure.problem if enhancer.failure else None
    return {"restored": enhancer.restored, "bad": enhancer.bad, "failure": failure}


def _frames(facts: Facts, graph: GraphSnapshot | None) -> dict[str, Any]:
    """Counts of the main output, the one that took most frames; ``raw`` is the worst of all outputs.

    At the end of a run ``captured`` is ``delivered`` and all ``dropped``, and ``delivered`` is ``swapped``,
    ``safe``, ``clear`` and the frames that ``--on-missing-face pass`` let through; ``repeated`` stands apart.
    """
    sinks = graph.sinks if graph else {}
    main = main_sink(graph) if graph else None
    output = facts.outputs.get(main) if main else None
    return {
        "captured": graph.captured if graph else 0,
        "delivered": sinks[main].delivered if main else 0,
        "swapped": output.count(Outcome.SWAPPED) if output else 0,
        "safe": output.count(Outcome.SAFE) if output else 0,
        "clear": output.count(Outcome.CLEAR) if output else 0,
        "raw": max((one.raw for one in facts.outputs.values()), default=0),
        "repeated": sinks[main].repeated if main else 0,
        "dropped": main_drops(graph) if graph else {},
    }


def main_sink(graph: GraphSnapshot) -> str | None:
    """The sink that took most frames."""
    return max(graph.sinks, key=lambda name: graph.sinks[name].delivered, default=None)


def main_drops(graph: GraphSnapshot) -> dict[str, int]:
    """What was dropped of the frames for the main sink; what only another one missed is left out."""
    others = [name for name in graph.sinks if name != main_sink(graph)]
    elsewhere = {key for name in others for key in _drops_of(name, graph.dropped)}
    return {key: count for key, count in graph.dropped.items() if key not in elsewhere}


def _drops_of(name: str, dropped: Mapping[str, int]) -> dict[str, int]:
    """The drops of one output alone: on the way to it from the fan-out, and its own."""
    edges = {key: key.rpartition(":")[0] for key in dropped}
    return {key: dropped[key] for key, edge in edges.items() if edge == name or edge.endswith(f"→{name}")}


def _latency(graph: GraphSnapshot | None) -> dict[str, Any]:
    """Residence is from capture to the hand-over to the slowest sink, ``written`` until it had written."""
    sinks = list(graph.sinks.values()) if graph else []
    slowest = max(sinks, key=lambda sink: sink.written.p95, default=None)
    stages = {"decode": graph.source} if graph else {}
    stages |= {name: stage.latency for name, stage in graph.stages.items()} if graph else {}
    stages |= {name: sink.writes for name, sink in graph.sinks.items()} if graph else {}
    return {
        "residence": _percentiles(slowest.residence if slowest else LatencySummary()),
        "written": _percentiles(slowest.written if slowest else LatencySummary()),
        "stages": {name: _percentiles(summary) for name, summary in stages.items()},
    }


def _percentiles(summary: LatencySummary) -> dict[str, float]:
    return {name: round(getattr(summary, name), 3) for name in ("p50", "p95", "p99", "max")}


def _fps(facts: Facts, graph: GraphSnapshot | None) -> dict[str, float]:
    if graph is None or graph.elapsed_s <= 0:
        return {"in": 0.0, "out": 0.0}
    delivered = max((sink.frames for sink in graph.sinks.values()), default=0)
    return {
        "in": round(graph.captured / graph.elapsed_s, 2),
        "out": round(delivered / graph.elapsed_s, 2),
    }


def _output(name: str, output: Output, graph: GraphSnapshot | None) -> dict[str, Any]:
    stats = output.stats
    sink: SinkSnapshot | None = graph.sinks.get(name) if graph else None
    told = sink.errors if sink else ()
    errors = [
        *told,
        *(error for error in dict.fromkeys(stats.errors) if not any(error in one for one in told)),
    ]
    return {
        "uri": redact(stats.uri or name),
        "frames": sink.frames if sink else stats.frames,
        "bytes": stats.bytes,
        "errors": errors,
        "reconnects": sink.reconnects if sink else stats.reconnects,
        "repeated": sink.repeated if sink else 0,
        "slates": sink.slates if sink else 0,
        "dropped": _drops_of(name, graph.dropped) if graph else {},
        "raw": output.raw,
        "latency_ms": {
            "residence": _percentiles(sink.residence if sink else LatencySummary()),
            "written": _percentiles(sink.written if sink else LatencySummary()),
        },
    }


def _stages(graph: GraphSnapshot | None) -> dict[str, Any]:
    """How each stage fared: restarts, fallbacks and errors."""
    if graph is None:
        return {}
    return {
        name: {
            "failures": stage.failures,
            "fallbacks": stage.fallbacks,
            "restarts": stage.restarts,
            "degraded": stage.degraded,
            "errors": list(stage.errors),
        }
        for name, stage in graph.stages.items()
    }


def _restraint(ladder: DeadlineLadder | None) -> dict[str, Any]:
    """How much optional work is left out because frames come late, and for how many frames each was."""
    if ladder is None:
        return {"level": 0, "left_out": {}}
    return {"level": ladder.level, "left_out": dict(ladder.frames)}


def _first_swapped(facts: Facts) -> dict[str, float] | None:
    """When the first swapped picture was in a sink: ``ms`` after the pipeline was made, and absolutely."""
    times = [one.first_swapped_ns for one in facts.outputs.values() if one.first_swapped_ns is not None]
    if not times:
        return None
    return {"ms": round((min(times) - facts.started_ns) / 1e6, 1), "monotonic_ns": min(times)}
