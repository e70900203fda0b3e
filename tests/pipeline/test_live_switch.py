"""A network takes over, changes the face and breaks while pictures run: none is dropped, torn or raw.

The clock stands still while a picture is on its way, and whoever loads or prepares is held until the test
lets go: what a slow machine would blur happens here at the same picture in every run.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("onnx")

from livefusion.core.errors import ModelError
from livefusion.core.events import Eos
from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.patch import Patch
from livefusion.core.settings import Pace, SafetySettings, Settings, SwapSettings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.catalog import MODELS_FOLDER_VARIABLE, ModelFile, UserModels
from livefusion.inference.network import Runnable
from livefusion.inference.session import Session
from livefusion.media.sinks.memory import MemorySink
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline import engines
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.parts import Parts
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.swap.portrait import portrait
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.reel import Reel, draw_reel
from livefusion.testing.reel_source import ReelSource
from livefusion.testing.skin import RAW_SHARE
from livefusion.testing.standins.build import build_recogniser, build_swap
from livefusion.testing.standins.check import BARE, OPAQUE, rgb_of
from livefusion.testing.standins.oracle import Oracle, shrunk_crop
from livefusion.testing.standins.truth import truth

pytestmark = pytest.mark.media

SIZE = Size(480, 270)
INTERVAL_NS = NANOSECONDS // 30
LONGEST_S = 60.0
FIRST, SECOND = "robin", "kai"  # whom the stand-in makes the most unlike
NOBODY = "nobody that the network makes"
NEAR, FAR = 1.5, 5.0
"""Mean differences from an oracle, in 255ths: of whose face it is, and of everybody else."""


class GatedSource(ReelSource):
    """Gives a picture when it is told to."""

    def __init__(self, device: Device, reel: Reel) -> None:
        super().__init__(device, reel, 10_000)
        self.go = threading.Semaphore(0)

    def read(self) -> Frame | Eos:
        self.go.acquire(timeout=LONGEST_S)
        return super().read()

    def interrupt(self) -> None:
        super().interrupt()
        self.go.release()


class TellingSink(MemorySink):
    """Says how many pictures came."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.came = threading.Condition()

    def write(self, item: RenderedFrame) -> None:
        with self.came:
            super().write(item)
            self.came.notify_all()


class Breakable(Session):
    """A network that gives no numbers once it is ``broken``."""

    broken = False

    def bind(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> Any:
        bound = super().bind(inputs, outputs)
        return _Broken(self, bound, outputs or {})


class _Broken:
    def __init__(self, network: Breakable, bound: Runnable, outputs: Mapping[str, Array]) -> None:
        self._network = network
        self._bound = bound
        self._outputs = outputs
        self.prepare = bound.prepare

    def run(self) -> None:
        self._bound.run()
        if self._network.broken:
            for array in self._outputs.values():
                array[...] = np.nan


class Drawn(NamedTuple):
    """A face that a network was asked for: whose, and where it is opaque."""

    track: FaceTrack
    identity: Identity
    opaque: npt.NDArray[np.bool_]


class HeldEngine(NeuralEngine):
    """Loads and prepares only when it is let; notes what it draws."""

    may_load = threading.Event()
    may_prepare = threading.Event()
    waits = threading.Event()
    made: list["HeldEngine"] = []  # noqa: RUF012 emptied for each test

    def __init__(self, device: Device, model: ModelFile, *, mesh: MeshEngine, **how: Any) -> None:
        assert self.may_load.wait(timeout=LONGEST_S)
        self.drawn: dict[int, list[Drawn]] = defaultdict(list)
        self.breakable = Breakable(model.entry)
        super().__init__(device, model, mesh=mesh, session=self.breakable, **how)
        self.made.append(self)

    def prepare(self, identity: Identity) -> None:
        self.waits.set()
        assert self.may_prepare.wait(timeout=LONGEST_S)
        super().prepare(identity)

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        patch = super().swap(frame, track, identity, settings, stream)
        if patch is not None:
            opaque = np.zeros(frame.buffer.luma.shape, bool)
            opaque[patch.region.luma] = patch.pixels[..., 3] == OPAQUE
            self.drawn[frame.seq].append(Drawn(track, identity, opaque))
        return patch


@dataclass(eq=False)
class Show:
    """The whole graph on a camera and a clock that the test moves."""

    pipeline: Pipeline
    source: GatedSource
    sink: TellingSink
    clock: ScriptedClock
    reel: Reel

    def play(self, pictures: int) -> range:
        """So many pictures, each taken when the one before was shown; their numbers."""
        first = len(self.sink.pictures)
        for _ in range(pictures):
            self.clock.advance(INTERVAL_NS)
            with self.sink.came:
                wanted = len(self.sink.pictures) + 1
                self.source.go.release()
                assert self.sink.came.wait_for(lambda n=wanted: len(self.sink.pictures) >= n, LONGEST_S)
        return range(first, len(self.sink.pictures))


@pytest.fixture(scope="module")
def reel() -> Reel:
    return draw_reel(PerformerOptions(size=SIZE, face=110, faces=2, seed=3, turn=6, grain=0), 12)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_swap(truth("inswapper_128"), tmp_path_factory.mktemp("standins") / "mine.onnx")


@pytest.fixture
def show(reel: Reel, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Show]:
    monkeypatch.setenv(MODELS_FOLDER_VARIABLE, str(tmp_path / "models"))
    UserModels().add(build_recogniser("arcface", tmp_path / "arcface.onnx"), family="arcface")
    monkeypatch.setattr(engines, "NeuralEngine", HeldEngine)
    for event in (HeldEngine.may_load, HeldEngine.may_prepare, HeldEngine.waits):
        event.clear()
    HeldEngine.made.clear()
    device, clock = CpuDevice(), ScriptedClock()
    source, sink = GatedSource(device, reel), TellingSink(device)
    settings = Settings(
        input="reel:",
        source=FIRST,
        engine=str(model),
        pace=Pace.REALTIME,
        swap=BARE,
        safety=SafetySettings(badge=False, badge_off_reason="pixels are compared"),
    )
    parts = Parts(
        device=device, source=lambda _: source, sinks=[lambda *_: sink], clock=clock, mark=lambda: None
    )
    pipeline = Pipeline(settings, parts=parts)
    pipeline.start()
    try:
        yield Show(pipeline, source, sink, clock, reel)
    finally:
        HeldEngine.may_load.set()
        HeldEngine.may_prepare.set()
        pipeline.stop()


def test_mesh_to_network_to_another_face_to_no_network_and_back(show: Show, reel: Reel) -> None:
    faces = {name: IdentityLibrary().load(name) for name in (FIRST, SECOND)}
    oracles = {
        name: Oracle(truth("inswapper_128"), portrait(face), shrunk_crop) for name, face in faces.items()
    }
    show.play(4)  # in which the faces are found
    loading = show.play(4)
    HeldEngine.may_load.set()
    assert HeldEngine.waits.wait(timeout=LONGEST_S)
    preparing = show.play(4)
    HeldEngine.may_prepare.set()
    standby = show.pipeline._stages._drawing[1]  # type: ignore[union-attr,index]
    assert standby.wait(timeout=LONGEST_S)  # type: ignore[attr-defined]
    assert standby.failure is None  # type: ignore[attr-defined]
    first = show.play(5)
    HeldEngine.may_prepare.clear()
    HeldEngine.waits.clear()
    switching = threading.Thread(target=show.pipeline.switch, args=(SECOND,), daemon=True)
    switching.start()
    assert HeldEngine.waits.wait(timeout=LONGEST_S)
    still_first = show.play(4)
    HeldEngine.may_prepare.set()
    switching.join(timeout=LONGEST_S)
    second = show.play(5)
    (engine,) = HeldEngine.made
    engine.breakable.broken = True
    broken = show.play(4)
    engine.breakable.broken = False
    healed = show.play(4)

    wanted: list[tuple[set[str], range]] = [
        (set(), loading),
        (set(), preparing),
        ({FIRST}, first),
        ({FIRST}, still_first),
        ({SECOND}, second),
        ({NOBODY}, broken),  # as the mesh engine draws him
        ({SECOND}, healed),
    ]
    for name, seq in [(name, seq) for name, part in wanted for seq in part]:
        picture, shot = show.sink.pictures[seq], reel.at(seq)
        assert picture.seq == seq
        assert picture.outcome is Outcome.SWAPPED
        assert shot.untouched(picture.luma) < RAW_SHARE, f"picture {seq} shows a raw face"
        assert shown(engine, oracles, show, seq) == name, f"picture {seq}"
    assert engine.bad == 2 * len(broken)
    frames = show.pipeline.report()["frames"]
    assert sum(frames["dropped"].values()) == 0
    assert frames["delivered"] == len(show.sink.pictures)


def test_a_network_that_fails_its_test_is_not_put_on_and_the_report_says_so(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one in half precision does that gives noise on a GPU, without any error."""

    def fails(engine: HeldEngine) -> None:
        raise ModelError("it gives another picture here than on the CPU (9 dB)", "use fp32")

    monkeypatch.setattr(HeldEngine, "warm_up", fails)
    show.play(4)
    HeldEngine.may_load.set()
    standby = show.pipeline._stages._drawing[1]  # type: ignore[union-attr,index]
    assert standby.wait(timeout=LONGEST_S)  # type: ignore[attr-defined]
    pictures = show.play(4)
    assert all(show.sink.pictures[seq].outcome is Outcome.SWAPPED for seq in pictures)
    report = show.pipeline.report()
    assert report["engine"]["name"] == "mesh"
    (fallback,) = report["device"]["fallbacks"]
    assert (fallback["wanted"], fallback["got"]) == ("mine", "mesh")
    assert "another picture" in fallback["reason"]


def shown(engine: HeldEngine, oracles: Mapping[str, Oracle], show: Show, seq: int) -> set[str]:
    """Whose faces the network's engine put on, by the halves of each; none if it was not asked."""
    picture, shot, color = show.sink.pictures[seq], show.reel.at(seq), show.source.format.color
    after = rgb_of(picture.luma, picture.chroma, color).astype(float)
    before = rgb_of(shot.luma, shot.chroma, color)
    drawn = engine.drawn[seq]
    if not drawn:
        return set()
    assert len(drawn) == 2, "both faces are put on by the same engine"
    found = set()
    for track, _, opaque in drawn:
        assert track.landmarks is not None
        off = {
            name: np.abs(oracle.picture(before, track.landmarks) * 255 - after).mean(axis=2)
            for name, oracle in oracles.items()
        }
        for half in halves(opaque):
            near = [name for name, values in off.items() if values[half].mean() < NEAR]
            others = [name for name, values in off.items() if values[half].mean() > FAR]
            found.add(near[0] if len(near) == 1 and len(others) == len(off) - 1 else NOBODY)
    return found


def halves(opaque: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.bool_]]:
    """The upper and the lower half of where a face is opaque."""
    rows = np.flatnonzero(opaque.any(axis=1))
    middle = (rows[0] + rows[-1]) // 2
    upper, lower = opaque.copy(), opaque.copy()
    upper[middle:], lower[:middle] = False, False
    return [upper, lower]
