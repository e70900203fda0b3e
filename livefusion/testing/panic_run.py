"""How long the panic switch takes while a stage hangs."""

import random
import threading
import time
from collections.abc import Callable, Iterator

from livefusion.core.settings import Pace, Settings
from livefusion.devices.device import Device
from livefusion.media.formats import OutputFormat
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.testing.chaos_source import ChaosSource
from livefusion.testing.faults import FaultBoard, FaultyDevice, Mishap
from livefusion.testing.injections import ANALYSE, RENDER, Entry, Reels, Scene
from livefusion.testing.judge import JudgeSink
from livefusion.testing.mark import no_mark

_HANG_SECONDS = 0.6
_PATIENCE_SECONDS = 10.0


def run_panics(reels: Reels, tries: int, seed: int, *, fps: int = 30) -> list[float]:
    """Milliseconds from the switch to the slate's arrival at the sink, each time with a stage that hangs.

    ``TimeoutError`` if the graph does not get going, hang, or show the slate within ten seconds.
    """
    rng, board = random.Random(seed), FaultBoard()
    device = FaultyDevice(board)
    source = ChaosSource(device, reels, [("nothing", _play_on)], board=board, rng=rng, fps=fps)
    sinks: list[JudgeSink] = []

    def make_sink(where: Device, form: OutputFormat) -> JudgeSink:
        sinks.append(JudgeSink(where, source))
        return sinks[0]

    parts = Parts(trail=NOWHERE, device=device, source=lambda _: source, sinks=[make_sink], mark=no_mark)
    pipeline = Pipeline(Settings(input="chaos:", pace=Pace.REALTIME), parts=parts)
    try:
        pipeline.start()
        return [_one_panic(pipeline, sinks[0], board, rng) for _ in range(tries)]
    finally:
        board.release()
        pipeline.stop()


def _play_on(scene: Scene) -> Iterator[Entry]:
    while True:
        yield from scene.play(1)


def _one_panic(pipeline: Pipeline, sink: JudgeSink, board: FaultBoard, rng: random.Random) -> float:
    _await(lambda: sink.is_well(time.monotonic_ns() - 200_000_000))
    strikes = len(board.strikes)
    work = rng.choice(ANALYSE + RENDER)
    board.arm(work, Mishap.STALLS, _HANG_SECONDS)
    _await(lambda: len(board.strikes) > strikes)
    time.sleep(rng.uniform(0.0, 0.05))
    since_ns = time.monotonic_ns()
    pipeline.panic.engage()
    _await(lambda: any(one.slate and one.at_ns >= since_ns for one in sink.sightings[-100:]))
    pipeline.panic.lift()
    shown_ns = next(one.at_ns for one in sink.sightings if one.slate and one.at_ns >= since_ns)
    return (shown_ns - since_ns) / 1e6


def _await(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    pause = threading.Event()
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the graph under test does not come to the point")
        pause.wait(0.005)
