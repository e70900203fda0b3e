"""The package onnxruntime-gpu really knows what our code asks of it; no GPU is needed.

A stub in the place of the NVIDIA driver lets the CUDA provider load, read its options and then find no GPU.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

from livefusion.core.errors import DeviceError
from livefusion.inference import ModelRegistry, Session
from livefusion.inference.cuda import CUDA_PROVIDER, CudaOptions
from livefusion.inference.engine import onnxruntime, run_options, session_options
from livefusion.inference.provider import CPU_PROVIDER
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.gpu_wheels

ENTRY = ModelRegistry.load()["face_blendshapes"]
EVERYTHING = CudaOptions(index=0, stream=1234, memory_limit=1 << 30, graphs=True, tf32=True)
# What the CUDA provider calls of the driver itself; the rest it asks of CUDA's runtime.
DRIVER_CALLS = ("cuTensorMapEncodeTiled",)


@pytest.fixture(autouse=True)
def _gpu_package() -> None:
    try:
        distribution("onnxruntime-gpu")
    except PackageNotFoundError:
        pytest.skip("onnxruntime-gpu is not installed")


def native_text() -> bytes:
    """The compiled part of the package, where names of entries stand as they are."""
    folder = Path(onnxruntime().__file__).parent / "capi"
    return b"".join(path.read_bytes() for path in folder.glob("onnxruntime_pybind11_state*"))


def test_every_entry_of_a_session_is_known() -> None:
    options, text = session_options(2, all_or_nothing=True), native_text()
    keys = (
        "session.intra_op.allow_spinning",
        "session.record_ep_graph_assignment_info",
        "session.disable_cpu_ep_fallback",
    )
    assert [options.get_session_config_entry(key) for key in keys] == ["0", "1", "1"]
    assert all(key.encode() in text for key in keys)
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)


def test_every_entry_of_a_run_is_known() -> None:
    options, text = run_options(wait=False, graph=3), native_text()
    assert options.get_run_config_entry("disable_synchronize_execution_providers") == "1"
    assert options.get_run_config_entry("gpu_graph_id") == "3"
    assert b"disable_synchronize_execution_providers" in text
    assert b"gpu_graph_id" in text


def test_our_code_path_gives_the_right_numbers() -> None:
    session = Session(ENTRY, "cpu", device=SimDevice())
    points = np.linspace(0, 256, 292, dtype=np.float32).reshape(1, 146, 2)
    own = np.full(52, -1, np.float32)
    session.bind({"points": points}, {"blendshapes": own}).run()
    (wanted,) = session._session.run(["blendshapes"], {"points": points})
    np.testing.assert_array_equal(own, wanted)
    assert session.placement.provider == CPU_PROVIDER
    assert session.placement.is_complete
    # What only runs on CUDA are given: the CPU ignores it, and must not stumble over it.
    binding = session.bind({"points": points}, {"blendshapes": np.zeros(52, np.float32)})
    session._session.run_with_iobinding(binding._binding, run_options(wait=False))
    np.testing.assert_array_equal(binding.outputs["blendshapes"], wanted)


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="this machine has a driver")
def test_cuda_without_a_driver_fails_in_our_words() -> None:
    assert CUDA_PROVIDER in onnxruntime().get_available_providers()  # which says nothing
    with pytest.raises(
        DeviceError, match=r"onnxruntime cannot use CUDA, because libcuda\.so\.1 is missing"
    ) as caught:
        Session(ENTRY, "cuda:0", device=SimDevice())
    assert caught.value.exit_status == 3
    assert "--device cpu" in caught.value.remedy


@pytest.fixture(scope="module")
def stub_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda.so.1 in which every call says that there is no GPU."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    source = folder / "stub.c"
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in DRIVER_CALLS))
    library = folder / "libcuda.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(source)],
        check=True,
    )
    return folder


def with_stub(folder: Path, code: str, *arguments: str) -> str:
    """What a program prints that runs with the stub in the place of the driver."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_every_option_is_one_of_the_provider(stub_driver: Path) -> None:
    code = """
        import sys
        from livefusion.inference import ModelRegistry
        from livefusion.inference.cuda import load_cuda
        from livefusion.inference.engine import onnxruntime, session_options
        load_cuda()
        content = ModelRegistry.load()["face_blendshapes"].read()
        for text in sys.argv[1:]:
            name, value = text.split("=")
            providers = [("CUDAExecutionProvider", {name: value})]
            options = session_options(1, all_or_nothing=True)
            try:
                onnxruntime().InferenceSession(content, options, providers=providers, enable_fallback=0)
            except Exception as error:
                said = str(error)
                refused = "option" in said and "CUDA failure 35" not in said
                print(name, "refused" if refused else "taken")
    """
    wanted = EVERYTHING.provider_options()
    assert len(wanted) >= len(fields(CudaOptions))
    options = [f"{name}={value}" for name, value in wanted.items()]
    wrong = [
        "gpu_mem_limt=1",
        "arena_extend_strategy=kOther",
        "cudnn_conv_algo_search=BEST",
        "use_tf32=maybe",
    ]
    lines = with_stub(stub_driver, code, *options, *wrong).splitlines()
    assert lines == [
        *(f"{name} taken" for name in wanted),
        *(f"{text.split('=')[0]} refused" for text in wrong),
    ]


def test_a_driver_without_a_gpu_fails_in_our_words(stub_driver: Path) -> None:
    code = """
        from livefusion.core.errors import LiveFusionError
        from livefusion.inference import ModelRegistry, Session
        from livefusion.testing.simdevice import SimDevice
        try:
            Session(ModelRegistry.load()["face_blendshapes"], "cuda:0", device=SimDevice())
        except LiveFusionError as error:
            print(type(error).__name__, error.exit_status, error)
    """
    (line,) = with_stub(stub_driver, code).splitlines()
    assert line.startswith("DeviceError 3 model face_blendshapes cannot run on the GPU (CUDA failure 35: ")
    assert "livefusion doctor" in line
    assert "hostname" not in line
