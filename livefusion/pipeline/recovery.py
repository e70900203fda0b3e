"""What becomes of a run whose device has no memory left or is lost: step by step down to the CPU.

::

    out of memory ─▶ free what is unused, make the part anew
      again within a minute ─▶ fewer pictures and faces at once
        again ─▶ the CPU          ◀─ lost, or refusing work for the third time
          the CPU fails too ─▶ the supervisor: safe pictures, degraded

Every step is logged in one line, and is in the report.
"""

import gc
import logging
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Final

from livefusion.core.errors import DeviceError, DeviceLostError, OutOfMemoryError
from livefusion.core.settings import FaceSettings
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback, Selection

_log = logging.getLogger(__name__)

WINDOW_NS: Final = 60 * NANOSECONDS
"""A step that held for so long did help; the next trouble begins with the first step again."""
MOST_REFUSALS: Final = 3
"""So many other errors of a device within the window, and it is left; until then the supervisor's back-off
is enough."""
PICTURES, FEWER_PICTURES = 16, 12
"""Pictures that a source may have under way; four slow outputs at once were seen to hold seven."""
FEWER_FACES = 1
"""Faces that are swapped at once where memory is short; the safety policy covers the others."""


@dataclass(frozen=True, slots=True, eq=False)
class Footing:
    """What the parts of a graph stand on: a device, and whether they make do with less of its memory.

    Compared by identity: parts made on another footing than the one in force have to be made anew.
    """

    device: Device
    frugal: bool = False

    @property
    def pictures(self) -> int:
        """How many pictures the source may have under way."""
        return FEWER_PICTURES if self.frugal else PICTURES

    def faces(self, settings: FaceSettings) -> FaceSettings:
        """The settings, with fewer faces at once where memory is short."""
        if not self.frugal or settings.max_faces <= FEWER_FACES:
            return settings
        return settings.model_copy(update={"max_faces": FEWER_FACES})


class _Step(Enum):
    FREE = "what is unused there is freed"
    SAVE = "there are fewer pictures and faces at once from now on"
    LEAVE = "the run goes on with the CPU"


class Recovery:
    """The device in force, and the steps away from it. Thread-safe; costs a frame the read of ``footing``.

    ``bound`` says that the device was asked for by name: then a part that cannot begin on it fails, instead
    of beginning elsewhere. In the middle of a run it counts for nothing: a picture matters more.
    """

    def __init__(self, selection: Selection, clock: Clock, *, bound: bool) -> None:
        self.footing = Footing(selection.device)
        """What parts are to be made on now; replaced, never changed."""
        self._clock = clock
        self._bound = bound
        self._lock = threading.Lock()
        self._fallbacks = {(one.wanted, one.got): one for one in selection.fallbacks}
        self._devices = [selection.device]
        self._lost: frozenset[str] = frozenset()
        self._begun: frozenset[str] = frozenset()
        self._faults: Counter[type[DeviceError]] = Counter()
        self._last_ns: int | None = None
        self._renew: Callable[..., None] = lambda *parts: None
        self._on_move: Callable[[Device], None] = lambda device: None

    @property
    def device(self) -> Device:
        """The device in force."""
        return self.footing.device

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What runs otherwise than it was meant to, from the choice of the device on; each kind once."""
        with self._lock:
            return tuple(self._fallbacks.values())

    @property
    def memory_peak(self) -> int:
        """Most bytes that one of the devices had in use."""
        return max(device.memory_peak() for device in self._devices)

    def connect(self, renew: Callable[..., None], on_move: Callable[[Device], None]) -> None:
        """Have ``renew`` called with the part that must be made anew, or with none for all of them.

        ``on_move`` hears of another device before; both are called on the thread of the part that failed.
        """
        self._renew, self._on_move = renew, on_move

    def is_lost(self, device: str) -> bool:
        """Whether pictures on the device of that name cannot be read any more."""
        return device in self._lost

    def lose(self, device: str) -> None:
        """Note that a device that is no longer in force cannot be read any more either."""
        with self._lock:
            self._lost |= {device}

    def begun(self, part: str) -> None:
        """Note that a part could begin: what happens to it from now on happens in the middle of a run."""
        with self._lock:
            self._begun |= {part}

    def meet(self, part: str, error: BaseException, footing: Footing) -> bool:
        """Take a step because of what a part raised that was made on ``footing``.

        True if there was one, or another part caused it before: the part may be made anew at once, on the
        footing then in force. False if the error is not the device's, or all there is to do is try again.
        """
        fault = device_fault(error)
        if fault is None:
            return False
        with self._lock:
            if isinstance(fault, DeviceLostError):
                self._lost |= {footing.device.name}
            if footing is not self.footing:
                return True
            step = self._next_step(fault, part)
            if step is None:
                return False
            self._note(step, part, fault)
            self._take(step)
        if step is _Step.LEAVE:
            self._on_move(self.footing.device)
        self._renew(*([part] if step is _Step.FREE else []))
        return True

    def free(self, device: Device) -> None:
        """Give back what a part left behind, before it is made anew."""
        if not self.is_lost(device.name):
            gc.collect()  # parts are full of cycles, and hold their memory until these are found
            with suppress(DeviceError):  # the next allocation will tell
                device.trim()

    def _next_step(self, fault: DeviceError, part: str) -> _Step | None:
        now_ns = self._clock.now_ns()
        if self._last_ns is None or now_ns - self._last_ns >= WINDOW_NS:
            self._faults.clear()
        self._last_ns = now_ns
        self._faults[type(fault)] += 1
        count, starting = self._faults[type(fault)], part not in self._begun
        match fault:
            case DeviceLostError():
                return self._leave(starting)
            case OutOfMemoryError() if count == 1:
                return _Step.FREE
            case OutOfMemoryError() if count == 2 and not self.footing.frugal:
                return _Step.SAVE
            case OutOfMemoryError():
                return self._leave(starting)
        return self._leave(starting) if starting or count >= MOST_REFUSALS else None

    def _leave(self, starting: bool) -> _Step | None:
        on_cpu = self.footing.device.name == "cpu"
        return None if on_cpu or (starting and self._bound) else _Step.LEAVE

    def _note(self, step: _Step, part: str, fault: DeviceError) -> None:
        name = self.footing.device.name
        got = {
            _Step.FREE: f"{name} with memory freed",
            _Step.SAVE: f"{name} with fewer pictures and faces",
            _Step.LEAVE: "cpu",
        }[step]
        self._fallbacks.setdefault((name, got), Fallback(name, got, f"{part}: {fault.problem}"))
        _log.warning("%s on %s: %s; %s", part, name, fault.problem, step.value)

    def _take(self, step: _Step) -> None:
        device = self.footing.device
        if step is _Step.SAVE:
            self.footing = Footing(device, frugal=True)
        elif step is _Step.LEAVE:
            self.footing = Footing(CpuDevice())
            self._devices.append(self.footing.device)
            self._last_ns = None
        if step is not _Step.LEAVE:
            self.free(device)


def device_fault(error: BaseException | None) -> DeviceError | None:
    """The error of a device behind an error, if one is."""
    while error is not None and not isinstance(error, DeviceError):
        error = error.__cause__
    return error
