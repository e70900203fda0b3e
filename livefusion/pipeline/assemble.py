"""From settings to the running graph, in the order in which a frame travels.

::

    source ─ decode ─▶ analyse ─▶ render (cover · swap · blend · badge · mark) ─▶ fan-out ─▶ pacer ─▶ sink
                          ╲
                           ▶ detector, beside
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from livefusion.core.errors import GraphError, LiveFusionError
from livefusion.core.face import Identity
from livefusion.core.settings import Pace, Settings
from livefusion.core.timing import NANOSECONDS, SystemClock
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback, Selection, fallbacks_of, open_device
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import InputFormat, OutputFormat
from livefusion.media.network.trust import trusting
from livefusion.media.nvcodec.codecs import open_codecs
from livefusion.media.sources.uri import parse_input, parse_output
from livefusion.ops.registry import LETTERBOX_NV12
from livefusion.pipeline.beside import run_beside
from livefusion.pipeline.ends import (
    Ends,
    PictureSource,
    open_source,
)
from livefusion.pipeline.engines import EngineChoice
from livefusion.pipeline.gate_model import photo_screen
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.movable_source import MovableSource
from livefusion.pipeline.outputs import plan_outputs
from livefusion.pipeline.own_networks import OwnNetworks
from livefusion.pipeline.parts import Parts, Progress
from livefusion.pipeline.plan import PlanHolder
from livefusion.pipeline.policy import Conduct, require_reason
from livefusion.pipeline.recovery import Recovery
from livefusion.pipeline.refuge import prepare_refuge
from livefusion.pipeline.render import RenderPlan
from livefusion.pipeline.report import Facts, build_report, main_drops
from livefusion.pipeline.seal import Sealer
from livefusion.pipeline.sink_guard import SinkGuard
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import Stages
from livefusion.pipeline.trail import open_trail
from livefusion.pipeline.usage import UsageGauge
from livefusion.pipeline.witness import Output
from livefusion.provenance.audit import NOWHERE
from livefusion.runtime.chrome_trace import SpanLog
from livefusion.runtime.graph import Graph
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.mailbox import LATEST, WAIT
from livefusion.runtime.pacer import Pacing
from livefusion.runtime.panic import PanicSwitch
from livefusion.runtime.snapshot import GraphSnapshot
from livefusion.swap.mesh.smooth import smoothed
from livefusion.swap.painted import swap_settings


class Pipeline:
    """One run: ``start``, then ``wait`` for its end or ``stop`` it; ``report`` at any time after ``start``.

    ``panic`` withholds the picture on every sink at once. A pipeline runs once.
    """

    def __init__(
        self, settings: Settings, *, library: IdentityLibrary | None = None, parts: Parts | None = None
    ) -> None:
        self._engine = EngineChoice(settings.engine, settings.family, settings.swap.pixel_boost)
        require_reason(settings)
        self._settings = settings
        self._library = library or IdentityLibrary()
        load = partial(self._library.load, preview=settings.safety.preview)
        self._load: Callable[..., Identity] = partial(load, screen=photo_screen(settings.gate))
        self._parts = parts or Parts()
        self._clock = self._parts.clock or SystemClock()
        self._own = OwnNetworks(settings, self._clock)
        self._started_ns = self._clock.now_ns()
        bound = settings.device != "auto"
        self._recovery = Recovery(self._open_device(), self._clock, bound=bound)
        self._slates = SlateShelf(self._recovery.device)
        self._spans = SpanLog() if settings.trace else None
        self.panic = PanicSwitch()
        self._graph = Graph(
            self._clock,
            limits=self._parts.limits,
            restarts=self._parts.restarts,
            panic=self.panic,
            spans=self._spans,
        )
        self._recovery.connect(self._graph.renew, self._slates.move)
        exchange, ceiling = self._parts.exchange, settings.web.bitrate * 1000
        self._share = exchange.share if exchange else EncoderShare(ceiling, clock=self._clock)
        self._usage = UsageGauge(self._clock)
        self._source: MovableSource | None = None
        self._stages: Stages | None = None
        self._outputs: dict[str, Output] = {}
        self._format: InputFormat | None = None
        self.plans = PlanHolder(self.panic, self._slates)
        """What is made of the faces; each change counts from the next frame on."""
        given = self._parts.trail
        self._own_trail = open_trail(settings, self._library) if given is None else NOWHERE
        trail = self._own_trail if given is None else given
        self._conduct = Conduct(settings, self._library.store, self._clock, trail, self.panic)
        self._ladder: DeadlineLadder | None = None
        self._sealer: Sealer | None = None

    def start(self) -> None:
        """Open the input, get the identity ready, and start the graph.

        Raises what is wrong with the input, the identity or the outputs.
        """
        try:
            self._start()
        except LiveFusionError as error:
            if self._parts.trail is None:
                self._conduct.refused(error)
            self._own_trail.close()
            raise

    def _start(self) -> None:
        settings = self._settings
        self._engine.check()
        self._own.check()
        # The first operator brings numba along, for a second: begin while the input and the face are read.
        run_beside(partial(self._recovery.device.prepare, LETTERBOX_NV12))
        # On a GPU, what its video engines can do is asked in child processes, for a second or two.
        run_beside(partial(open_codecs, self._recovery.device))
        ends = self._read_ends()
        pace = ends.pace(settings) if ends else settings.pace or Pace.FAST
        live = pace is Pace.REALTIME
        self._source = source = MovableSource(
            self._recovery, self._source_maker(ends, pace), patient=live, restarts=self._parts.restarts
        )
        identity = run_beside(partial(self._load, settings.source, settings.consent, settings.painted))
        self._format = source.probe()
        face = smoothed(identity.result(), settings.swap.smoothness)
        mark = self._parts.mark()
        plan = RenderPlan(face, swap_settings(face, settings.swap), settings.safety, mark)
        self.plans.begin(plan, at_once=live)
        run_beside(partial(self._slates.prepare, self._format.size, self._format.color))
        self._conduct.begin(self._recovery.device.name, ends.outputs if ends else ())
        self._conduct.use(face, self.plans.allow, partial(self.plans.allow, face))
        policy = LATEST if live else WAIT
        interval = 1 / self._format.fps if live else None
        if interval is not None:  # late is what comes to its face when the next picture is taken already
            self._ladder = DeadlineLadder(self._own.rungs, round(interval * NANOSECONDS), self._clock)
        self._stages = stages = Stages(
            self._recovery,
            self._slates,
            settings.faces,
            self.plans.current,
            self._engine,
            patient=not live,
            own=self._own,
            interval_s=None if interval is None else float(interval),
            ladder=self._ladder,
            look=self._conduct.open_gate(self.plans.gate, patient=not live),
        )
        output = OutputFormat.of(self._format, source.audio)
        if mark is not None:
            self._sealer = Sealer(mark)
            output = replace(output, label=self._sealer.label)
        self._graph.source("decode", lambda: source)
        self._graph.stage("analyse", stages.analyse, policy)
        self._graph.stage("render", stages.render, policy)
        self._outputs = plan_outputs(
            settings, self._parts, ends, output, share=self._share, recovery=self._recovery
        )
        for name, one in self._outputs.items():
            pacing = Pacing(interval, self._slates.like, one.patience, one.timed)
            make = partial(self._guarded, name, one)
            self._graph.sink(name, make, policy, pacing=pacing, restart=one.restart)
        self._graph.start()
        run_beside(partial(prepare_refuge, self._recovery.device))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the run; False if ``timeout`` seconds passed first. Raises what ended it."""
        self._usage.sample()
        return self._graph.wait(timeout)

    def stop(self) -> None:
        """End the run: outputs are finished and closed, the timeline is written."""
        if self._format is None:
            return
        with suppress(GraphError):  # it never started
            self._graph.stop()
        if self._sealer is not None:
            self._sealer.close()
        self._conduct.end(self.report())
        self._own_trail.close()
        if self._spans is not None and self._settings.trace is not None:
            self._spans.write(self._settings.trace)

    def switch(self, source: str, consent: str = "") -> None:
        """Put on another face from the next frame on; it is made ready before, on the calling thread."""
        if self._stages is None:
            raise GraphError("there is nothing to switch before the start")
        try:
            identity = smoothed(self._load(source, consent), self._settings.swap.smoothness)
            self._stages.prepare(identity)
            swap = swap_settings(identity, self._settings.swap)
            self._conduct.use(identity, self.plans.allow, partial(self.plans.switch, identity, swap))
        except LiveFusionError as error:
            self._conduct.refused(error)
            raise

    def progress(self) -> Progress:
        """Figures for a live line."""
        now = self._graph.snapshot()
        sinks = now.sinks.values()
        return Progress(
            fps=now.captured / now.elapsed_s if now.elapsed_s > 0 else 0.0,
            p95_ms=max((sink.residence.p95 for sink in sinks), default=0.0),
            dropped=sum(main_drops(now).values()),
            tracks=self._stages.counts.tracks if self._stages else 0,
            device=self._recovery.device.name,
            delivered=max((sink.delivered for sink in sinks), default=0),
            captured=now.captured,
            total=self._format.frames if self._format else None,
            left_out=self._ladder.left_out if self._ladder else (),
        )

    def report(self) -> dict[str, Any]:
        """The run so far, or as it ended, as ``livefusion.report/1``."""
        self._usage.sample()
        plan = self.plans.known
        return build_report(
            Facts(
                settings=self._settings,
                format=self._format,
                device=self._recovery.device,
                device_peak_mb=self._recovery.memory_peak / 2**20,
                fallbacks=self._fallbacks(),
                identity=plan.identity if plan else None,
                mark=plan.mark if plan else None,
                gate=self._conduct.gate_counts,
                networks=self._stages.networks if self._stages else (),
                engine=self._stages.engine if self._stages else "",
                enhancer=self._stages.enhancer if self._stages else None,
                counts=self._stages.counts if self._stages else None,
                outputs=self._outputs,
                rss_peak_mb=self._usage.rss_peak_mb,
                cores=self._usage.cores,
                started_ns=self._started_ns,
                encoders=self._share.encoders,
                ladder=self._ladder,
            ),
            self._snapshot(),
        )

    def _snapshot(self) -> GraphSnapshot | None:
        try:
            return self._graph.snapshot()
        except GraphError:  # it never started
            return None

    def _fallbacks(self) -> tuple[Fallback, ...]:
        parts = [self._source, self._stages, *self._outputs.values()]
        return (*self._recovery.fallbacks, *(one for part in parts for one in fallbacks_of(part)))

    def _open_device(self) -> Selection:
        if self._parts.device is not None:
            return Selection(self._parts.device)
        return open_device(self._settings.device)

    def _read_ends(self) -> Ends | None:
        if self._parts.source is not None:
            return None
        settings = self._settings
        known = settings.stream_ca
        outputs = tuple(trusting(parse_output(text), known) for text in settings.output)
        return Ends(trusting(parse_input(settings.input), known), outputs)

    def _source_maker(self, ends: Ends | None, pace: Pace) -> Callable[[Device], PictureSource]:
        if self._parts.source is not None:
            return self._parts.source
        assert ends is not None
        return partial(
            open_source, ends.input, settings=self._settings, pace=pace, exchange=self._parts.exchange
        )

    def _guarded(self, name: str, output: Output) -> SinkGuard:
        return SinkGuard(name, output.make(), self._recovery, self._slates)
