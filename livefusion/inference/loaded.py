"""Networks in the memory of a device, each there once, however many graphs of the process run it."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from livefusion.core.errors import DeviceError, DeviceLostError, ModelError, OutOfMemoryError
from livefusion.devices.device import Device, Stream
from livefusion.inference.cuda import CUDA_PROVIDER, CudaOptions, load_cuda
from livefusion.inference.engine import onnxruntime, session_options
from livefusion.inference.failures import translated
from livefusion.inference.placement import Placement, allow_shapes, prove_placement
from livefusion.inference.provider import CPU_PROVIDER, Place
from livefusion.inference.registry import ModelEntry
from livefusion.inference.tensorrt import Engine, Engines

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """The stream that a network runs on, and the lock to hold while putting something on it."""

    stream: Stream
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False)
class LoadedNetwork:
    """A network on a device. `lane` is the stream that it was made for, None where runs need none."""

    # The session before the stream, so that it also ends before it.
    runtime: Any
    placement: Placement
    lane: Lane | None = None
    graph_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))


@dataclass(frozen=True, slots=True)
class NetworkKey:
    """What two users of a network must agree on to share it."""

    path: Path
    sha256: str
    place: Place
    threads: int
    graphs: bool
    on_own_stream: bool
    loosened: bool = False
    widened: bool = False


class LoadedNetworks:
    """Keeps networks for as long as somebody uses them."""

    def __init__(self) -> None:
        self._networks: WeakValueDictionary[NetworkKey, LoadedNetwork] = WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: NetworkKey, load: Callable[[], LoadedNetwork]) -> LoadedNetwork:
        """Return the network, loaded now if nobody else has it; who asks meanwhile waits."""
        with self._lock:
            network = self._networks.get(key)
            if network is None:
                network = self._networks[key] = load()
            return network


_SHARED = LoadedNetworks()


def load_network(
    entry: ModelEntry,
    place: Place,
    device: Device | None,
    *,
    threads: int,
    graphs: bool,
    shapes_on_cpu: bool = False,
) -> LoadedNetwork:
    """Return the network, shared with all who asked for the same.

    On a GPU it is made for a stream of `device`; without one it runs on a stream that nobody else knows.
    With `shapes_on_cpu` the CPU may reckon with shapes, if the GPU does not take the whole network.
    Raises ModelError, MachineError and DeviceError as `Session` does.
    """
    own_stream = place.on_cuda and device is not None
    changed = bool(entry.loosened), bool(entry.widened)
    key = NetworkKey(entry.path, entry.sha256, place, threads, graphs, own_stream, *changed)

    def load() -> LoadedNetwork:
        started = time.perf_counter_ns()
        network = _load(entry, place, device, threads, graphs, shapes_on_cpu=shapes_on_cpu)
        _log.debug("loaded %s in %.0f ms", entry.name, (time.perf_counter_ns() - started) / 1e6)
        return network

    return _SHARED.get(key, load)


def _load(
    entry: ModelEntry,
    place: Place,
    device: Device | None,
    threads: int,
    graphs: bool,
    *,
    shapes_on_cpu: bool,
) -> LoadedNetwork:
    if not place.on_cuda:
        runtime = _session(entry, session_options(threads), CPU_PROVIDER, {})
        return LoadedNetwork(runtime, prove_placement(runtime, CPU_PROVIDER, entry.name))
    load_cuda()
    lane = None if device is None else Lane(device.stream(entry.name))
    stream = None if lane is None else lane.stream.handle
    engine = None if entry.widened else Engines().fitting(entry.sha256, place)
    if engine is not None:
        try:
            return load_engine(entry, engine, place, lane, threads=threads, graphs=graphs)
        except (DeviceError, ModelError) as error:
            _log.warning("%s runs on CUDA and not in the engine built for it: %s", entry.name, error.problem)
    cuda = CudaOptions(place.index, stream, graphs=graphs)
    try:
        options = session_options(threads, all_or_nothing=True)
        runtime = _session(entry, options, CUDA_PROVIDER, cuda.provider_options())
    except (DeviceLostError, OutOfMemoryError):
        raise
    except DeviceError:
        if not shapes_on_cpu:
            raise
        return _load_without_shapes(entry, replace(cuda, graphs=False), lane, threads)
    return LoadedNetwork(runtime, prove_placement(runtime, CUDA_PROVIDER, entry.name), lane)


def _load_without_shapes(
    entry: ModelEntry, cuda: CudaOptions, lane: Lane | None, threads: int
) -> LoadedNetwork:
    """The network on CUDA but for nodes that reckon with shapes; ``DeviceError`` if it takes more."""
    runtime = _session(entry, session_options(threads), CUDA_PROVIDER, cuda.provider_options())
    placement = allow_shapes(prove_placement(runtime, CUDA_PROVIDER, entry.name), runtime, entry.name)
    _log.info("%s: %s", entry.name, placement)
    return LoadedNetwork(runtime, placement, lane)


def load_engine(
    entry: ModelEntry, engine: Engine, place: Place, lane: Lane | None, *, threads: int, graphs: bool
) -> LoadedNetwork:
    """The network in an engine, which is built now if its folder is empty; what it cannot do runs on CUDA.

    Raises ModelError and DeviceError.
    """
    stream = None if lane is None else lane.stream.handle
    cuda = CudaOptions(place.index, stream, graphs=False).provider_options()
    runtime = _session(
        entry,
        session_options(threads, all_or_nothing=True),
        engine.builder.value,
        engine.provider_options(place.index, stream, graphs=graphs),
        (CUDA_PROVIDER, cuda),
    )
    return LoadedNetwork(runtime, prove_placement(runtime, engine.builder.value, entry.name), lane)


def _session(
    entry: ModelEntry,
    options: Any,
    provider: str,
    provider_options: dict[str, str],
    *others: tuple[str, dict[str, str]],
) -> Any:
    content = entry.read()
    with translated(entry.name, loading=True):
        # Without the last word it would print the error and try again on the CPU.
        return onnxruntime().InferenceSession(
            content, options, providers=[(provider, provider_options), *others], enable_fallback=0
        )
