"""What CUDA refuses: the status of a call that would work on the stand-in, and not on a GPU."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Arguments = tuple[Any, ...]

INVALID_VALUE, INVALID_PITCH, BAD_DEVICE = 1, 12, 101
NO_CONTEXT, INVALID_HANDLE, CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED = 201, 400, 900, 901
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
MOST_THREADS = 1024

# Of these calls the capturing thread may make none: they could wait for the stream that does not run.
_UNSAFE = frozenset(
    ("moduleLoadData", "moduleGetFunction", "malloc", "free", "hostAlloc", "freeHost", "eventQuery")
)


@dataclass(slots=True)
class _Capture:
    thread: int
    spoilt: bool = False


class _Thread(threading.local):
    device = 0
    has_context = False


class Rules:
    """Keeps each thread's device, whose each stream and event is, and which streams are in capture."""

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus
        self._thread = _Thread()
        self._home: dict[int, int] = {}
        self._captures: dict[int, _Capture] = {}
        self._checks: dict[str, Callable[..., int]] = {
            "setDevice": self._set_device,
            "launchKernel": self._launch_kernel,
            "eventRecord": self._event_record,
            "eventSynchronize": self._known,
            "streamWaitEvent": lambda stream, event, flags=0: (
                self._known(stream, event) or self._idle(stream)
            ),
            "streamSynchronize": lambda stream: self._known(stream) or self._idle(stream),
            "streamBeginCapture": lambda stream, mode: self._known(stream) or self._idle(stream),
            "streamEndCapture": self._end_capture,
            "graphLaunch": lambda graph, stream: self._known(stream) or self._idle(stream),
            "deviceSynchronize": self._device_synchronize,
            "mallocAsync": lambda size, stream: self._known(stream) or self._idle(stream),
            "freeAsync": lambda address, stream: self._known(stream) or self._idle(stream),
            "memcpyAsync": self._copy,
            "memcpy2DAsync": self._copy_rows,
        }

    def verdict(self, call: str, arguments: Arguments) -> int:
        """The status that CUDA would give, 0 for success."""
        if call in _UNSAFE and self._spoil(lambda capture: capture.thread == threading.get_ident()):
            return CAPTURE_UNSUPPORTED
        check = self._checks.get(call)
        return 0 if check is None else check(*arguments)

    def note(self, call: str, arguments: Arguments, result: Any) -> None:
        """Remember what a call has done."""
        if call == "setDevice":
            self._thread.device = arguments[0]
        if call in {"streamCreateWithFlags", "eventCreateWithFlags"}:
            self._home[result] = self._thread.device
        if call == "streamBeginCapture":
            self._captures[arguments[0]] = _Capture(threading.get_ident())
        # The runtime makes the context of the thread's device; the driver's calls need one to be there.
        self._thread.has_context |= not call.startswith(("module", "launch"))

    def _set_device(self, index: int) -> int:
        return 0 if 0 <= index < self._gpus else BAD_DEVICE

    def _known(self, *handles: int) -> int:
        return 0 if all(handle in self._home for handle in handles) else INVALID_HANDLE

    def _idle(self, *streams: int) -> int:
        """Whatever else is done to a stream in capture is refused, and spoils the capture."""
        return CAPTURE_UNSUPPORTED if self._spoil(lambda _: True, *streams) else 0

    def _spoil(self, which: Callable[[_Capture], bool], *streams: int) -> bool:
        hit = [
            capture
            for stream, capture in self._captures.items()
            if which(capture) and (not streams or stream in streams)
        ]
        for capture in hit:
            capture.spoilt = True
        return bool(hit)

    def _event_record(self, event: int, stream: int) -> int:
        if self._known(event, stream) or self._home[event] != self._home[stream]:
            return INVALID_HANDLE
        return self._idle(stream)

    def _launch_kernel(self, _function: int, *rest: int) -> int:
        grid, block, stream = rest[:3], rest[3:6], rest[7]
        if not self._thread.has_context:
            return NO_CONTEXT
        if self._known(stream) or self._home[stream] != self._thread.device:
            return INVALID_HANDLE
        fits = all(0 < blocks <= most for blocks, most in zip(grid, MOST_BLOCKS, strict=True))
        if not fits or not 0 < block[0] * block[1] * block[2] <= MOST_THREADS:
            return INVALID_VALUE
        capture = self._captures.get(stream)
        return 0 if capture is None or capture.thread == threading.get_ident() else self._idle(stream)

    def _end_capture(self, stream: int) -> int:
        capture = self._captures.pop(stream, None)
        if capture is None or capture.thread != threading.get_ident():
            return INVALID_VALUE
        return CAPTURE_INVALIDATED if capture.spoilt else 0

    def _device_synchronize(self) -> int:
        here = [stream for stream in self._captures if self._home[stream] == self._thread.device]
        return self._idle(*here) if here else 0

    def _copy(self, _to: int, _source: int, size: int, _kind: int, stream: int) -> int:
        _unsigned(size)
        return self._known(stream) or self._idle(stream)

    def _copy_rows(self, *arguments: int) -> int:
        _, to_pitch, _, source_pitch, width, height, _, stream = arguments
        _unsigned(to_pitch, source_pitch, width, height)
        if height > 1 and min(to_pitch, source_pitch) < width:
            return INVALID_PITCH
        return self._known(stream) or self._idle(stream)


def _unsigned(*values: int) -> None:
    if min(values) < 0:
        raise OverflowError("can't convert negative value to size_t")
