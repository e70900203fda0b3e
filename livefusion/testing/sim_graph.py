"""The real graph on a simulated device: one run along a route, whole or without some of its waits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from livefusion.core.errors import LiveFusionError
from livefusion.core.settings import FaceSettings, Pace, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.device import Device, Event, Stream
from livefusion.devices.pool import DeviceBuffer
from livefusion.faces.kalman import LIBRARY
from livefusion.media.sinks.memory import KeptPicture
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.runtime.backoff import RestartPolicy
from livefusion.testing.failing_device import FailingDevice
from livefusion.testing.mark import fixed_mark
from livefusion.testing.sim_route import LIVE, Route, RouteEnds
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.slow_clock import SlowClock

FRAMES = 8
_LONGEST_S = 120.0
"""A run that lacks a wait may hang; a whole one takes a second."""


@dataclass(frozen=True, slots=True)
class SimRun:
    """What came of one run on a simulated device; ``waits`` counts those that order anything."""

    pictures: Sequence[KeptPicture] = ()
    packets: Sequence[bytes] = ()
    races: tuple[str, ...] = ()
    waits: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    ordering: Counter[str] = field(default_factory=Counter)
    left_out: str = ""
    error: str = ""

    def same(self, other: "SimRun") -> bool:
        """Whether two runs gave the same pictures, byte for byte, with the same outcomes."""
        return self.packets == other.packets and same(self.pictures, other.pictures)


def run_simulated(
    seed: int,
    performer: int,
    *,
    drop_wait: int | None = None,
    drop_site: str | None = None,
    frames: int = FRAMES,
    route: Route = LIVE,
) -> SimRun:
    """Run the graph on a ``SimDevice``; a fault that a lost wait leads to is told as ``error``.

    What the host has waited for does not count between streams: with it, most waits could go unnoticed.
    """
    device = SimDevice(seed, kind=route.kind, drop_wait=drop_wait, drop_site=drop_site, host_orders=False)
    ends = RouteEnds(route, performer, frames, device)
    error = ""
    with mock.patch.object(DeviceBuffer, "read_until", _noted_read):
        try:
            _run(ends)
        except (LiveFusionError, TimeoutError) as fault:
            error = str(fault)
    return SimRun(
        ends.pictures,
        ends.packets,
        tuple(str(race) for race in device.races),
        device.mutation.count,
        device.mutation.seen,
        device.mutation.ordering,
        device.mutation.left_out,
        error,
    )


def run_graph(
    device: Device, performer: int, frames: int = FRAMES, route: Route = LIVE
) -> Sequence[KeptPicture]:
    """The pictures that the whole graph makes of a performer on any device."""
    ends = RouteEnds(route, performer, frames, device)
    _run(ends)
    return ends.pictures


def same(first: Sequence[KeptPicture], second: Sequence[KeptPicture]) -> bool:
    """Whether pictures are the same, byte for byte, with the same outcomes."""
    return len(first) == len(second) and all(
        one.outcome is other.outcome
        and np.array_equal(one.luma, other.luma)
        and np.array_equal(one.chroma, other.chroma)
        for one, other in zip(first, second, strict=True)
    )


def _run(ends: RouteEnds) -> None:
    """Run the graph to its end; ``TimeoutError`` if it has none."""
    # Boxes rest where they are while the motion model is imported beside: the first run would differ.
    LIBRARY.filter_type()
    route = ends.route
    # A stage that failed comes back at once or never, so that it misses the same frames in every run. The
    # detector decides in the first frame; a simulated device takes longer than the 6 ms it is given.
    delay_ns = 0 if route.recovers else NANOSECONDS
    parts = Parts(
        trail=NOWHERE,
        device=FailingDevice(ends.device, route.fails) if route.fails else ends.device,
        source=ends.source,
        sinks=ends.sink_makers(),
        clock=SlowClock(),
        mark=fixed_mark,
        restarts=RestartPolicy(first_ns=delay_ns, longest_ns=delay_ns),
    )
    faces = FaceSettings(detect_every=route.detect_every)
    pipeline = Pipeline(Settings(input=ends.uri, pace=Pace.FAST, faces=faces), parts=parts)
    try:
        pipeline.start()
        if not pipeline.wait(_LONGEST_S):
            raise TimeoutError("the graph hangs")
    finally:
        pipeline.stop()


def _noted_read(buffer: DeviceBuffer, event: Event, stream: Stream) -> None:
    """``DeviceBuffer.read_until`` that can be left out like a wait."""
    home = buffer.home
    # Whether it orders anything shows only when the slot is used again.
    if not (isinstance(home, SimDevice) and home.mutation.skips(orders=False)):
        _read_until(buffer, event, stream)


_read_until = DeviceBuffer.read_until
