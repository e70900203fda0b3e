"""The time that our own code takes on the host for each frame, on a GPU that does nothing at once."""

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from livefusion.core.frame import Frame
from livefusion.core.settings import FaceSettings, SafetySettings, SwapSettings
from livefusion.core.timing import NANOSECONDS, SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.faces import build
from livefusion.faces.analyse import AnalyseStage
from livefusion.faces.detector_worker import DetectorWorker
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.sources.file import FileSource
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import make_occlusion
from livefusion.runtime.stage import StageContext
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.testing.network_tape import NetworkTape, TapingDevice
from livefusion.testing.null_device import NullDevice
from livefusion.testing.null_nvcodec import null_codecs
from livefusion.testing.packet_sink import PacketSink

STAGES = ("decode", "analyse", "render", "encode")
_PATIENCE_NS = 5 * NANOSECONDS

Nanoseconds = npt.NDArray[np.int64]


@dataclass(slots=True)
class HostTimes:
    """Nanoseconds of the processor: (frames, 4) by stage, and (searches,) of the detector's thread."""

    stages: Nanoseconds
    detector: Nanoseconds
    outcomes: list[str] = field(default_factory=list)


class SettledWorker(DetectorWorker):
    """A detector that can be waited for until it has nothing to do, so that two runs are alike."""

    made: list["SettledWorker"] = []  # noqa: RUF012 - of one process

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.served: list[int] = []
        super().__init__(*arguments, **named)
        self._slots = len(self._detector.slots)
        self.made.append(self)

    def settle(self) -> None:
        """Wait until all pictures have been searched and all questions are answered."""
        with self._changed:
            while len(self._free) < self._slots or self._to_recognise is not None:
                self._changed.wait(0.01)

    def _serve(self) -> bool:
        since = time.thread_time_ns()
        goes_on = super()._serve()
        self.served.append(time.thread_time_ns() - since)
        return goes_on


class StageLine:
    """The stages of a live run in one thread, frame by frame, on any device."""

    def __init__(self, clip: Path, device: Device, codecs: Codecs | None) -> None:
        # Boxes would rest where they are while the motion model is imported beside.
        LIBRARY.filter_type()
        context = StageContext("host time", SystemClock())
        identity = IdentityLibrary().load("")
        plan = RenderPlan(identity, SwapSettings(), SafetySettings())
        self._source = FileSource(clip, device, codecs=codecs)
        self._source.open(context)
        with mock.patch.object(build, "DetectorWorker", SettledWorker):
            self._analyse: AnalyseStage = build.build_analyse_stage(
                device, FaceSettings(), detect_guard_ns=_PATIENCE_NS
            )
            self._analyse.open(context)
        self._detector = SettledWorker.made[-1]
        engine = MeshEngine(device)
        occlusion = make_occlusion(device, build.Networks(device))
        self._render = RenderStage(device, engine, lambda: plan, SlateShelf(device), occlusion=occlusion)
        self._render.open(context)
        self._sink: PacketSink | None = None
        if codecs is not None:
            form = self._source.probe()
            self._sink = PacketSink(device, OutputFormat.of(form, None), codecs, form.size)
            self._sink.open(context)

    def run(self, frames: int, spent: Callable[[], int]) -> HostTimes:
        """Take so many frames through; ``spent`` gives the time so far."""
        times, outcomes = [], []
        served = len(self._detector.served)
        for _ in range(frames):
            marks = [spent()]
            frame = self._source.read()
            assert isinstance(frame, Frame), f"the clip ends early with {frame}"
            marks.append(spent())
            analysed = self._analyse.process(frame)
            marks.append(spent())
            rendered: Any = self._render.process(analysed)  # type: ignore[arg-type]
            marks.append(spent())
            if self._sink is not None:
                self._sink.write(rendered)
            marks.append(spent())
            times.append(marks)
            outcomes.append(rendered.outcome.value)
            del frame, analysed, rendered
            self._detector.settle()
        searches = np.array(self._detector.served[served:], np.int64)
        marks_ns = np.array(times, np.int64)
        return HostTimes(marks_ns[:, 1:] - marks_ns[:, :-1], searches, outcomes)

    def close(self) -> None:
        """End the detector's thread and close the clip."""
        self._analyse.close()
        self._source.close()


def record_networks(clip: Path, frames: int) -> NetworkTape:
    """What the networks give for the first frames of a clip."""
    tape = NetworkTape()
    line = StageLine(clip, TapingDevice(CpuDevice(), tape), None)
    line.run(frames, time.thread_time_ns)
    line.close()
    return tape


def measure_host(clip: Path, tape: NetworkTape, warm_up: int, frames: int) -> HostTimes:
    """The time for ``frames`` frames after ``warm_up`` others."""
    tape.rewind()
    device = NullDevice(tape)
    size = FileSource(clip, CpuDevice()).probe().size
    line = StageLine(clip, device, null_codecs(device, size))
    own = threading.get_ident()

    def spent() -> int:
        return time.thread_time_ns() - tape.foreign_ns[own]

    line.run(warm_up, spent)
    gc.collect()
    times = line.run(frames, spent)
    line.close()
    return times
