"""A camera under whose pictures the ground shakes: one injection after another, in real time."""

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from livefusion.core.events import Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.media.formats import InputFormat
from livefusion.runtime.alarm import Alarm
from livefusion.runtime.stage import StageContext
from livefusion.testing.faults import FaultBoard
from livefusion.testing.injections import Entry, Injection, Reels, Scene
from livefusion.testing.reel import Shot
from livefusion.testing.stages import InjectedError

_CANDIDATES = 8
_WARM_FRAMES = 20
# Long enough for a machine that other programs keep busy: how fast the graph recovers is measured elsewhere.
_PATIENCE_NS = 20 * NANOSECONDS


class ChaosSource:
    """Plays a script of injections in real time.

    ``struck`` counts those that took place, by name; ``failed`` is True once the source raised. ``trouble``
    is what is going wrong now.

    ``is_well`` tells whether a picture captured after an instant is out and swapped; the next injection waits
    for it. Those after which the graph did not recover within twenty seconds are in ``unrecovered``.
    """

    def __init__(
        self,
        device: Device,
        reels: Reels,
        script: Sequence[tuple[str, Injection]],
        *,
        board: FaultBoard,
        rng: random.Random,
        fps: int = 60,
    ) -> None:
        self.struck: Counter[str] = Counter()
        self.failed = False
        self.is_well: Callable[[int], bool] = lambda since_ns: True
        self.unrecovered: list[str] = []
        self.trouble = "nothing yet"
        self._device = device
        self._reels = reels
        self._scene = Scene(reels, board, rng)
        self._script = list(script)
        self._board = board
        self._fps = fps
        self._entries = self._play()
        self._clock: Clock = SystemClock()
        self._stop: Alarm | None = None
        self._interrupted = False
        self._lock = threading.Lock()
        self._pools: dict[Size, FramePool] = {}
        self._recent: deque[tuple[int, Shot]] = deque(maxlen=64)
        self._seq = 0
        self._due_ns = 0

    @property
    def format(self) -> InputFormat:
        """That of the first reel."""
        reel = self._reels.here
        return InputFormat("chaos:", reel.size, Fraction(self._fps), reel.color, Fraction(1, self._fps))

    @property
    def audio(self) -> None:
        """None."""
        return None

    def probe(self) -> InputFormat:
        """The format."""
        return self.format

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device from the next one on."""
        self._device = device
        self._pools.clear()
        self._stream = device.stream("chaos")

    def shots(self, captured_ns: int) -> list[Shot]:
        """What a picture captured at that time may show, newest first: its own shot and those shortly before.

        A repeat, which was not captured at its time, may show any that is remembered: a machine that stops
        for a while makes the pacer repeat one that is old.
        """
        with self._lock:
            recent = [(at_ns, shot) for at_ns, shot in self._recent if at_ns <= captured_ns]
        repeat = not recent or recent[-1][0] != captured_ns
        return [shot for _, shot in (recent if repeat else recent[-_CANDIDATES:])][::-1]

    def took(self, captured_ns: int) -> bool:
        """Whether a picture was captured at exactly that time, so that it is no repeat and no slate."""
        with self._lock:
            return any(at_ns == captured_ns for at_ns, _ in self._recent)

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        self._clock = context.clock
        self._stop = Alarm(context.clock)
        self._stream = self._device.stream("chaos")
        if self._interrupted:
            self._stop.set()

    def read(self) -> Frame | Event:
        """The next picture when it is due, or the next event; raises what the script has in store."""
        assert self._stop is not None, "open comes first"
        for entry in self._entries:
            if isinstance(entry, Event):
                return entry
            now_ns = self._clock.now_ns()
            self._due_ns = max(self._due_ns, now_ns - NANOSECONDS // 20)
            if isinstance(entry, Shot):
                self._due_ns += NANOSECONDS // self._fps
            else:
                self._due_ns = now_ns + round(entry * NANOSECONDS)
            if self._stop.wait_until(self._due_ns):
                break
            if isinstance(entry, Shot):
                return self._frame(entry)
        return Eos()

    def interrupt(self) -> None:
        """End the script."""
        self._interrupted = True
        if self._stop is not None:
            self._stop.set()

    def close(self) -> None:
        """Nothing to give back."""

    def _play(self) -> Iterator[Entry]:
        scene, board = self._scene, self._board
        yield from scene.play(_WARM_FRAMES)
        yield from self._recover(scene)
        for name, injection in self._script:
            before = len(board.strikes)
            armed = False
            self.trouble = f"{name} at {self._seq}"
            try:
                for entry in injection(scene):
                    armed = armed or board.armed
                    yield entry
            except InjectedError:
                self.failed = True
                raise
            yield from self._recover(scene)
            # What was armed must also have been met; all else happens by being played.
            if not armed or len(board.strikes) > before:
                self.struck[name] += 1
        yield from scene.play(_WARM_FRAMES)

    def _recover(self, scene: Scene) -> Iterator[Entry]:
        """Play on until all is well: each injection is to meet a graph that has got over the last one."""
        self.trouble += ", recovering"
        since_ns = self._clock.now_ns()
        end_ns = since_ns + _PATIENCE_NS
        yield from scene.play(2)
        while not self.is_well(since_ns):
            if self._clock.now_ns() > end_ns:
                self.unrecovered.append(self.trouble)
                return
            yield from scene.play(1)

    def _frame(self, shot: Shot) -> Frame:
        height, width = shot.luma.shape
        size = Size(width, height)
        pool = self._pools.setdefault(size, FramePool(self._device, size, limit=48))
        buffer = pool.acquire(self._stream)
        self._device.copy(buffer.luma, shot.luma, self._stream)
        self._device.copy(buffer.chroma, shot.chroma, self._stream)
        buffer = buffer.after(self._stream.record())
        seq, self._seq = self._seq, self._seq + 1
        captured_ns = self._clock.now_ns()
        with self._lock:
            self._recent.append((captured_ns, shot))
        ts = Timestamp(round(captured_ns / 1000), Fraction(1, 1_000_000))
        color = self._reels.here.color if size == self._reels.here.size else self._reels.other_format.color
        return Frame(seq, "chaos", ts, captured_ns, size, color, buffer)
