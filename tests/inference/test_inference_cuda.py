"""Networks on CUDA, up to the border of ONNX Runtime: options, order, graphs, sharing, words."""

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_onnxruntime import Fail, FakeOnnxruntime, install

from livefusion.core.errors import (
    DeviceError,
    DeviceLostError,
    GraphError,
    LiveFusionError,
    ModelError,
    OutOfMemoryError,
)
from livefusion.inference import ModelRegistry, Session
from livefusion.inference.cuda import CUDA_PROVIDER, MEMORY_LIMIT, CudaOptions, load_cuda
from livefusion.inference.loaded import LoadedNetwork, LoadedNetworks, NetworkKey
from livefusion.inference.placement import Placement
from livefusion.inference.provider import CPU_PROVIDER, Place, place_of
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

ENTRY = ModelRegistry.load()["face_blendshapes"]


class Libraries:
    """Shared libraries of a machine; ``broken`` gives the loader's words for those that do not load."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self.loaded: list[str] = []

    def __call__(self, library: str, mode: int) -> object:
        name = Path(library).name
        if name in self.broken:
            raise OSError(self.broken[name])
        self.loaded.append(name)
        return object()


@pytest.fixture
def libraries() -> Libraries:
    return Libraries()


@pytest.fixture
def runtime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, libraries: Libraries
) -> Iterator[FakeOnnxruntime]:
    yield from install(monkeypatch, tmp_path, libraries)


class GpuArray:
    """As much of a CuPy array as a binding needs."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {"data": (address, False)}
        self.shape = shape
        self.dtype = np.dtype(np.float32)
        self.flags = np.zeros(1).flags


def buffers(address: int = 4096) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"points": GpuArray(address, (1, 146, 2))}, {"blendshapes": GpuArray(address + 8192, (52,))}


def entries(session: Session) -> list[dict[str, str]]:
    """The options of each run so far."""
    return [options.entries for _, options in session._session.runs]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (CudaOptions(), {"device_id": "0", "use_tf32": "0", "enable_cuda_graph": "0"}),
        (CudaOptions(index=3), {"device_id": "3"}),
        (CudaOptions(), {"gpu_mem_limit": str(MEMORY_LIMIT), "arena_extend_strategy": "kSameAsRequested"}),
        (CudaOptions(memory_limit=1 << 20), {"gpu_mem_limit": "1048576"}),
        (CudaOptions(), {"cudnn_conv_algo_search": "HEURISTIC"}),
        (CudaOptions(stream=77), {"user_compute_stream": "77", "do_copy_in_default_stream": "0"}),
        (CudaOptions(graphs=True, tf32=True), {"enable_cuda_graph": "1", "use_tf32": "1"}),
    ],
)
def test_options_in_the_words_of_the_provider(options: CudaOptions, said: dict[str, str]) -> None:
    assert said.items() <= options.provider_options().items()


def test_without_a_stream_the_provider_keeps_its_own_order() -> None:
    assert not {"user_compute_stream", "do_copy_in_default_stream"} & CudaOptions().provider_options().keys()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("cpu", Place("cpu")),
        ("cuda", Place("cuda", 0)),
        ("cuda:0", Place("cuda", 0)),
        ("cuda:12", Place("cuda", 12)),
    ],
)
def test_names_of_devices(name: str, place: Place) -> None:
    assert place_of(name) == place


def test_a_network_is_made_for_a_stream_of_the_device(runtime: FakeOnnxruntime) -> None:
    device = SimDevice()
    device.stream("another")
    session = Session(ENTRY, "cuda:1", device=device)
    made = session._session
    assert session.lane is not None
    assert made.rest["providers"] == [
        (CUDA_PROVIDER, CudaOptions(1, session.lane.stream.handle).provider_options())
    ]
    assert device.stream_of(session.lane.stream.handle).name == ENTRY.name
    assert made.rest["enable_fallback"] == 0
    assert made.content == ENTRY.read()
    assert made.options.entries["session.disable_cpu_ep_fallback"] == "1"
    assert session.placement == Placement(CUDA_PROVIDER, 7, 7)


def test_runs_of_a_binding_are_not_waited_for(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda:1", device=SimDevice())
    binding = session.bind(*buffers(4096))
    binding.prepare(nullcontext())
    binding.run()
    ((bound, _),) = session._session.runs
    assert entries(session) == [{"disable_synchronize_execution_providers": "1", "gpu_graph_id": "-1"}]
    assert bound.inputs["points"] == ("cuda", 1, np.float32, (1, 146, 2), 4096)
    assert bound.outputs["blendshapes"] == ("cuda", 1, np.float32, (52,), 12288)


def test_runs_on_host_arrays_are(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda:1", device=SimDevice())
    session.run({"points": np.zeros((1, 146, 2), np.float32)})
    ((bound, options),) = session._session.runs
    assert options is not None
    assert options.entries["disable_synchronize_execution_providers"] == "0"
    assert bound.inputs["points"][:2] == bound.outputs["blendshapes"][:2] == ("cpu", 0)


def test_without_a_device_every_run_is_waited_for(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda")
    assert session.lane is None
    session.bind(*buffers()).run()
    assert entries(session)[0]["disable_synchronize_execution_providers"] == "0"


def test_a_graph_is_captured_after_two_plain_runs_and_then_replayed(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda:0", device=SimDevice(), graphs=True)
    first, second = session.bind(*buffers(4096)), session.bind(*buffers(65536))
    undisturbed: list[int] = []

    @contextmanager
    def alone() -> Iterator[None]:
        before = len(entries(session))
        yield
        undisturbed.extend(range(before, len(entries(session))))

    first.prepare(alone())
    second.prepare(alone())
    assert undisturbed == [2, 5]  # the captures, and none of the slow runs before them
    first.run()
    ids = [entry["gpu_graph_id"] for entry in entries(session)]
    assert ids == ["-1", "-1", "1", "-1", "-1", "2", "1"]
    waits = [entry["disable_synchronize_execution_providers"] for entry in entries(session)]
    assert waits == ["0"] * 6 + ["1"]
    with pytest.raises(GraphError, match="captured with another points"):
        first.set_input("points", GpuArray(0, (1, 146, 2)))


def test_runs_on_host_arrays_never_meet_a_graph(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda:0", device=SimDevice(), graphs=True)
    session.run({"points": np.zeros((1, 146, 2), np.float32)})
    assert entries(session)[0]["gpu_graph_id"] == "-1"


def test_a_network_that_is_partly_elsewhere_is_not_captured(runtime: FakeOnnxruntime) -> None:
    runtime.nodes = (7, 1)
    session = Session(ENTRY, "cuda:0", device=SimDevice(), graphs=True)
    session.bind(*buffers()).prepare(nullcontext())
    assert entries(session) == []


def test_shapes_may_be_left_to_the_cpu_by_who_says_so(runtime: FakeOnnxruntime) -> None:
    runtime.operators = ("Shape", "Gather", "Shape")
    with pytest.raises(DeviceError, match="CPU EP"):
        Session(ENTRY, "cuda:0", device=SimDevice(), graphs=True)
    session = Session(ENTRY, "cuda:0", device=SimDevice(), graphs=True, shapes_on_cpu=True)
    assert session.placement == Placement(CUDA_PROVIDER, 7, 10, ((CPU_PROVIDER, 3),), ("Gather", "Shape"))
    (fallback,) = session.fallbacks
    assert fallback.wanted == f"all of {ENTRY.name} on {CUDA_PROVIDER}"
    assert "Gather, Shape" in fallback.reason
    assert session._session.rest["providers"][0][1]["enable_cuda_graph"] == "0"
    session.bind(*buffers()).prepare(nullcontext())
    assert entries(session) == []


def test_other_work_may_not(runtime: FakeOnnxruntime) -> None:
    runtime.operators = ("Shape", "NonZero", "Conv")
    with pytest.raises(DeviceError, match=r"cannot run \(Conv, NonZero\)"):
        Session(ENTRY, "cuda:0", device=SimDevice(), shapes_on_cpu=True)


def test_a_whole_network_has_no_fallbacks(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda:0", device=SimDevice(), shapes_on_cpu=True)
    assert session.fallbacks == ()
    assert session._session.options.entries["session.disable_cpu_ep_fallback"] == "1"


def test_graphs_make_no_difference_on_the_cpu(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cpu", graphs=True)
    binding = session.bind({"points": np.zeros((1, 146, 2), np.float32)})
    binding.prepare(nullcontext())
    binding.run()
    assert session._session.runs[0][1] is None


def test_sessions_of_the_same_kind_share_what_is_large(runtime: FakeOnnxruntime) -> None:
    device = SimDevice()
    first, second = (Session(ENTRY, "cuda:0", device=device) for _ in range(2))
    assert first is not second
    assert first._session is second._session
    assert first.lane is second.lane
    others = [
        Session(ENTRY, "cuda:1", device=device),
        Session(ENTRY, "cuda:0", device=device, graphs=True),
        Session(ENTRY, "cuda:0"),
        Session(ENTRY, "cpu"),
        Session(ENTRY, "cpu", threads=2),
        Session(ModelRegistry.load()["yunet"], "cuda:0", device=device),
    ]
    assert len({id(session._session) for session in (first, *others)}) == 1 + len(others)


def test_what_nobody_uses_is_not_kept(runtime: FakeOnnxruntime) -> None:
    session = Session(ENTRY, "cuda:0")
    del session
    gc.collect()
    Session(ENTRY, "cuda:0")
    assert runtime.sessions == 2


def test_who_asks_for_a_network_that_is_being_loaded_gets_the_same() -> None:
    networks, key = LoadedNetworks(), NetworkKey(ENTRY.path, "x", Place("cpu"), 1, False, False)
    loading, go_on = threading.Event(), threading.Event()
    found: list[LoadedNetwork] = []

    def load() -> LoadedNetwork:
        loading.set()
        assert go_on.wait(30)
        return LoadedNetwork(None, Placement("x", 1, 1))

    def never() -> LoadedNetwork:
        raise AssertionError("loaded twice")

    def ask(how: Callable[[], LoadedNetwork]) -> None:
        found.append(networks.get(key, how))

    threads = [threading.Thread(target=ask, args=[how]) for how in (load, never)]
    threads[0].start()
    assert loading.wait(30)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert len(found) == 2
    assert found[0] is found[1]


def test_libraries_are_loaded_before_they_are_needed(
    runtime: FakeOnnxruntime, libraries: Libraries, capsys: pytest.CaptureFixture[str]
) -> None:
    load_cuda()
    load_cuda()
    assert runtime.preloads == 1
    assert [name.split(".")[0].removeprefix("lib") for name in libraries.loaded] == [
        "onnxruntime_providers_shared",
        "onnxruntime_providers_cuda",
        libraries.loaded[-1].split(".")[0].removeprefix("lib"),
    ]
    assert "cudnn" in libraries.loaded[-1]
    assert capsys.readouterr().out == ""


CUDA_LIBRARY = "libonnxruntime_providers_cuda.so"


@pytest.mark.parametrize(
    ("broken", "reason", "named", "remedy"),
    [
        (
            CUDA_LIBRARY,
            "libcuda.so.1: cannot open shared object file: No such file",
            "libcuda.so.1",
            "driver",
        ),
        (
            CUDA_LIBRARY,
            "libcublasLt.so.13: cannot open shared object file: No",
            "libcublasLt.so.13",
            "extra cuda",
        ),
        (CUDA_LIBRARY, "/x/libonnx.so: undefined symbol: cuThing", CUDA_LIBRARY, "extra cuda"),
        ("libcudnn.so.9", "libcudnn.so.9: cannot open shared object file", "libcudnn.so.9", "extra cuda"),
    ],
)
@pytest.mark.skipif("sys.platform != 'linux'")
def test_a_missing_library_is_named(
    runtime: FakeOnnxruntime, libraries: Libraries, broken: str, reason: str, named: str, remedy: str
) -> None:
    libraries.broken[broken] = reason
    with pytest.raises(DeviceError, match=named.replace(".", r"\.")) as caught:
        Session(ENTRY, "cuda:0")
    assert caught.value.exit_status == 3
    assert remedy in caught.value.remedy
    assert runtime.sessions == 0
    libraries.broken.clear()
    assert Session(ENTRY, "cuda:0").placement.is_complete


def test_the_other_package_is_named(runtime: FakeOnnxruntime) -> None:
    runtime.providers = ["CPUExecutionProvider"]
    with pytest.raises(DeviceError, match="cannot use CUDA") as caught:
        Session(ENTRY, "cuda:0")
    assert caught.value.exit_status == 3
    assert "extra cuda" in caught.value.remedy


WRAPPING = (
    "/src/cuda_call.cc:154 std::conditional_t<THRW, void, Status> CudaCall() [with ERRTYPE = cudaError] "
)
CONFIG = "; GPU=0 ; hostname=secret ; file=/src/x.cc ; line=355 ; expr=cudaSetDevice(0);"
FULL, LOST, OTHER = (OutOfMemoryError,) * 2, (DeviceLostError,) * 2, (DeviceError,) * 2
FAILURES: list[tuple[str, tuple[type[LiveFusionError], type[LiveFusionError]]]] = [
    (f"{WRAPPING} CUDA failure 2: out of memory {CONFIG}", FULL),
    ("[ONNXRuntimeError] : 6 : Available memory of 5 is smaller than requested bytes of 9", FULL),
    ("bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 9", FULL),
    ("CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0", FULL),
    ("std::bad_alloc", FULL),
    (f"CUDA failure 700: an illegal memory access was encountered {CONFIG}", LOST),
    ("CUDA failure 719: unspecified launch failure", LOST),
    ("CUDA error 999: unknown error", LOST),
    ("the device is lost", LOST),
    (f"{WRAPPING} CUDA failure 35: CUDA driver version is insufficient {CONFIG}", OTHER),
    ("CUDA failure 7001: no such thing", OTHER),
    ("nodes that are assigned to the default CPU EP, but fallback is disabled", OTHER),
    ("Protobuf parsing failed.", (ModelError, DeviceError)),
]


@pytest.mark.parametrize(("text", "kinds"), FAILURES, ids=[text[-40:] for text, _ in FAILURES])
def test_foreign_words_become_errors_of_ours(
    runtime: FakeOnnxruntime,
    text: str,
    kinds: tuple[type[LiveFusionError], type[LiveFusionError]],
) -> None:
    runtime.refusal = Fail(text)
    with pytest.raises(LiveFusionError) as loading:
        Session(ENTRY, "cuda:0")
    runtime.refusal = None
    binding = Session(ENTRY, "cuda:0").bind(*buffers())
    runtime.failure = Fail(text)
    with pytest.raises(LiveFusionError) as running:
        binding.run()
    assert (type(loading.value), type(running.value)) == kinds
    for error in (loading.value, running.value):
        assert error.remedy
        assert "\n" not in str(error)
        assert "secret" not in str(error)
        assert "conditional_t" not in str(error)


def test_what_is_not_foreign_stays_what_it_is(runtime: FakeOnnxruntime) -> None:
    binding = Session(ENTRY, "cuda:0").bind(*buffers())
    runtime.failure = KeyError("a fault of our own")
    with pytest.raises(KeyError):
        binding.run()
