"""A stand-in for the module ``cupy``: the names that ``devices.cuda`` uses, on the host's memory."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.devices.device import host_view
from livefusion.testing.host_cuda import HostCuda
from livefusion.testing.host_rules import Rules

GIGABYTE = 1 << 30


class CUDARuntimeError(RuntimeError):
    """What a call of CUDA raises; ``status`` is the runtime's code."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


class CUDADriverError(CUDARuntimeError):
    """The same for the driver."""


class NVRTCError(RuntimeError):
    """What the compiler raises."""


class _Pointer:
    def __init__(self, address: int) -> None:
        self.ptr = address


class _Place:
    """Gives an array its ``data``, with the address as ``ptr``, when it is first asked for."""

    def __get__(self, array: Any, kind: Any = None) -> _Pointer:
        pointer = array.__dict__["data"] = _Pointer(array.__array_interface__["data"][0])
        return pointer


class HostArray(npt.NDArray[Any]):
    """A NumPy array that says where its memory lies as a CuPy array does, and as fast."""

    data: Any = _Place()


class UnownedMemory:
    """Memory of somebody else, kept by ``owner``."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner


class MemoryPointer:
    """A place in memory."""

    def __init__(self, mem: UnownedMemory, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset


class _Owned:
    """Lends memory to an array, which then keeps its owner."""

    def __init__(self, pointer: MemoryPointer) -> None:
        self.pointer = pointer
        self.__array_interface__ = {
            "shape": (pointer.mem.size,),
            "typestr": "|u1",
            "data": (pointer.ptr, False),
            "version": 3,
        }


class ExternalStream:
    """CuPy's current stream within a ``with``; ``current`` tells tests which."""

    current: list[int] = []  # noqa: RUF012 the stack of one process

    def __init__(self, handle: int) -> None:
        self.ptr = handle

    @classmethod
    def from_external(cls, stream: Any) -> "ExternalStream":
        """From whatever speaks the stream protocol."""
        return cls(stream.__cuda_stream__()[1])

    def __enter__(self) -> "ExternalStream":
        self.current.append(self.ptr)
        return self

    def __exit__(self, *_: object) -> None:
        self.current.pop()


class HostCupy:
    """``CudaDevice(HostCupy())`` runs all of its code; kernels run on the host twin.

    ``seed`` has everything run late and in disorder (``host_cuda``), ``rules`` refuse what CUDA refuses.
    ``pools`` tells whether the GPU has stream-ordered memory, ``reads_pageable`` whether it reads any memory
    of the host. ``fail`` makes coming calls fail, and ``lose`` all of them from now on.
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        gpus: int = 1,
        memory: int = 8 * GIGABYTE,
        capability: int = 90,
        pools: bool = True,
        reads_pageable: bool = False,
        host: HostCuda | None = None,
    ) -> None:
        self.host = host or HostCuda(seed)
        self.lock = threading.RLock()
        self.rules = Rules(gpus)
        self.calls: dict[str, int] = {}
        self._failures: dict[str, list[int]] = {}
        self._lost = False
        self._gpus, self._size, self._capability = gpus, memory, capability
        self._attributes = {115: int(pools), 88: int(reads_pageable)}
        self.host.reads_pageable = reads_pageable
        self.cuda = SimpleNamespace(
            runtime=self._runtime(),
            driver=self._driver(),
            nvrtc=self._nvrtc(),
            nvtx=SimpleNamespace(available=False),
            memory=SimpleNamespace(OutOfMemoryError=_OutOfMemoryError),
            UnownedMemory=self._unowned,
            MemoryPointer=MemoryPointer,
            Stream=ExternalStream,
        )

    def fail(self, call: str, status: int, after: int = 0) -> None:
        """Have a call of CUDA fail with a status once, ``after`` so many that succeed."""
        self._failures.setdefault(call, []).extend([0] * after + [status])

    def lose(self) -> None:
        """From now on every call fails, as after an illegal address."""
        self._lost = True

    def ndarray(
        self,
        shape: tuple[int, ...],
        dtype: Any = float,
        memptr: MemoryPointer | None = None,
        strides: tuple[int, ...] | None = None,
    ) -> HostArray:
        """An array over memory."""
        assert memptr is not None, "the product never lets CuPy allocate"
        if strides is not None:
            return host_view(memptr.ptr, shape, strides, dtype).view(HostArray)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.asarray(_Owned(memptr))[:size]
        array: HostArray = memory.view(dtype).reshape(shape).view(HostArray)
        return array

    def _guarded(
        self, name: str, call: Callable[..., Any], error: type[CUDARuntimeError] = CUDARuntimeError
    ) -> Callable[..., Any]:
        def guarded(*arguments: Any) -> Any:
            with self.lock:
                self.calls[name] = self.calls.get(name, 0) + 1
                queued = self._failures.get(name)
                status = 719 if self._lost else (queued.pop(0) if queued else 0)
                status = status or self.rules.verdict(name, arguments)
                if status and name == "streamEndCapture":
                    call(*arguments)  # the capture is over, whatever became of it
                if status and name == "eventQuery":
                    return status  # CuPy raises nothing here
                if status:
                    raise error(status)
                result = call(*arguments)
                self.rules.note(name, arguments, result)
                return result

        return guarded

    def _unowned(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> UnownedMemory:
        with self.lock:
            if not self.host.owns(ptr):
                self.host.adopt(ptr, size)
        return UnownedMemory(ptr, size, owner, device_id)

    def _runtime(self) -> SimpleNamespace:
        host = self.host
        calls: dict[str, Callable[..., Any]] = {
            "setDevice": lambda index: None,
            "deviceGetAttribute": lambda attribute, device: self._attributes[attribute],
            "pointerGetAttributes": lambda address: SimpleNamespace(type=2 * host.reaches(address)),
            "check_status": _check_status,
            "getDeviceCount": lambda: self._gpus,
            "getDeviceProperties": self._properties,
            "memGetInfo": lambda: (self._size, self._size),
            "streamCreateWithFlags": lambda flags: host.new_stream(),
            "streamSynchronize": host.synchronize_stream,
            "streamWaitEvent": host.wait,
            "streamBeginCapture": lambda stream, mode: host.begin_capture(stream),
            "streamEndCapture": host.end_capture,
            "eventCreateWithFlags": lambda flags: host.new_event(),
            "eventRecord": host.record,
            "eventSynchronize": host.synchronize_event,
            "eventQuery": lambda event: 0 if host.is_past(event) else 600,
            "deviceSynchronize": host.synchronize,
            "mallocAsync": lambda size, stream: self._take(size),
            "malloc": self._take,
            "free": host.give_back,
            "freeAsync": lambda address, stream: host.give_back(address),
            "hostAlloc": lambda size, flags: host.take(size),
            "freeHost": host.give_back,
            "memcpyAsync": lambda to, source, size, kind, stream: host.copy(to, source, size, stream),
            "memcpy2DAsync": self._copy_rows,
            "graphInstantiate": lambda graph: graph,
            "graphDestroy": lambda graph: None,
            "graphExecDestroy": lambda graph: None,
            "graphLaunch": self._launch_graph,
            "deviceGetDefaultMemPool": lambda device: 1,
            "memPoolSetAttribute": lambda pool, attribute, value: None,
            "memPoolTrimTo": lambda pool, size: None,
        }
        return SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            streamNonBlocking=1,
            eventBlockingSync=1,
            streamCaptureModeThreadLocal=1,
            hostAllocPortable=1,
            memcpyHostToDevice=1,
            memcpyDefault=4,
            cudaMemPoolAttrReleaseThreshold=4,
            cudaDevAttrMemoryPoolsSupported=115,
            cudaDevAttrPageableMemoryAccess=88,
            memoryTypeUnregistered=0,
            **{name: self._guarded(name, call) for name, call in calls.items()},
        )

    def _driver(self) -> SimpleNamespace:
        calls: dict[str, Callable[..., Any]] = {
            "moduleLoadData": lambda image: 1,
            "moduleGetFunction": lambda module, name: self.host.function(name),
            "launchKernel": self._launch,
        }
        guarded = {name: self._guarded(name, call, CUDADriverError) for name, call in calls.items()}
        return SimpleNamespace(CUDADriverError=CUDADriverError, **guarded)

    def _nvrtc(self) -> SimpleNamespace:
        return SimpleNamespace(
            NVRTCError=NVRTCError,
            getVersion=lambda: (13, 0),
            createProgram=lambda source, name, headers, names: 1,
            compileProgram=lambda program, options: None,
            getCUBIN=lambda program: b"\x7fELF, the twin",
            getProgramLog=lambda program: "",
            destroyProgram=lambda program: None,
        )

    def _properties(self, index: int) -> dict[str, Any]:
        return {"name": b"Host Twin", "major": self._capability // 10, "minor": self._capability % 10}

    def _take(self, size: int) -> int:
        if self.host.in_use + size > self._size:
            raise CUDARuntimeError(2)
        return self.host.take(size)

    def _copy_rows(self, *arguments: int) -> None:
        to, to_pitch, source, source_pitch, width, height, _, stream = arguments
        for row in range(height):
            self.host.copy(to + row * to_pitch, source + row * source_pitch, width, stream)

    def _launch(self, function: int, *rest: int) -> None:
        gx, gy, gz, bx, by, bz, _, stream, pointers, _ = rest
        self.host.launch(function, (gx, gy, gz), (bx, by, bz), stream, pointers)

    def _launch_graph(self, graph: int, stream: int) -> None:
        for work in self.host.graph(graph):
            self.host.put(stream, work)


class _OutOfMemoryError(MemoryError):
    pass


def _check_status(status: int) -> None:
    if status:
        raise CUDARuntimeError(status)
