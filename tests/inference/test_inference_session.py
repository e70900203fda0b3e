"""Sessions: right numbers, fixed buffers, foreign errors translated.

`expected_outputs.npz` holds what other engines gave on `wave`: LiteRT 2.3 on the original TFLite files and,
for YuNet and SFace, the float32 networks whose weights were dequantised before saving.
"""

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.core.errors import DeviceError, GraphError, MachineError, ModelError
from livefusion.inference import ModelRegistry, Session, engine

pytestmark = pytest.mark.unit

EXPECTED = Path(__file__).with_name("expected_outputs.npz")


def wave(shape: tuple[int, ...], high: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a smooth pattern 0..high that needs no random generator."""
    steps = np.arange(np.prod(shape)).reshape(shape)
    return np.asarray(high * (0.5 + 0.5 * np.sin(0.37 * steps)), np.float32)


@cache
def session(name: str) -> Session:
    return Session(ModelRegistry.load()[name])


def expected(name: str) -> dict[str, np.ndarray[Any, Any]]:
    with np.load(EXPECTED) as stored:
        return {key.partition(".")[2]: stored[key] for key in stored.files if key.startswith(f"{name}.")}


@pytest.mark.parametrize(
    ("name", "wanted", "tensor", "shape", "high", "tolerance"),
    [
        ("yunet", "yunet", "image", (1, 3, 64, 96), 255, 1e-3),
        ("face_landmarks", "face_landmarks", "image", (1, 3, 256, 256), 1, 0.02),
        ("face_landmarks_gpu", "face_landmarks", "image", (1, 3, 256, 256), 1, 0.02),
        ("face_blendshapes", "face_blendshapes", "points", (1, 146, 2), 256, 1e-4),
        ("sface", "sface", "image", (1, 3, 112, 112), 255, 1e-3),
    ],
)
def test_numbers_are_those_of_the_original_engine(
    name: str, wanted: str, tensor: str, shape: tuple[int, ...], high: float, tolerance: float
) -> None:
    outputs = session(name).run({tensor: wave(shape, high)})
    reference = expected(wanted)
    assert outputs.keys() == reference.keys()
    for key, array in reference.items():
        np.testing.assert_allclose(outputs[key], array, rtol=0, atol=tolerance, err_msg=key)


def test_segmentation_is_that_of_the_original_engine() -> None:
    alpha = session("selfie_segmentation").run({"image": wave((1, 3, 256, 256), 1)})["alpha"]
    np.testing.assert_allclose(alpha[:, :, ::16, ::16], expected("selfie_segmentation")["alpha"], atol=1e-3)


def test_compact_sface_points_where_the_float32_network_does() -> None:
    found = session("sface").run({"image": wave((1, 3, 112, 112), 255)})["embedding"][0]
    original = expected("sface")["embedding"][0]
    assert found @ original / np.linalg.norm(found) / np.linalg.norm(original) > 0.9999


def test_outputs_are_the_same_buffers_every_time() -> None:
    network = session("face_blendshapes")
    first = network.run({"points": wave((1, 146, 2), 256)})["blendshapes"]
    before = first.copy()
    second = network.run({"points": wave((1, 146, 2), 200)})["blendshapes"]
    assert second is first
    assert not np.array_equal(first, before)


def test_an_input_written_in_place_is_read_again() -> None:
    network = session("face_blendshapes")
    inputs = network.empty_inputs()
    before = network.run(inputs)["blendshapes"].copy()
    inputs["points"][...] = wave((1, 146, 2), 256)
    np.testing.assert_allclose(
        network.run(inputs)["blendshapes"], expected("face_blendshapes")["blendshapes"], atol=1e-4
    )
    assert not np.array_equal(before, network.run(inputs)["blendshapes"])


def test_outputs_may_be_the_callers_own() -> None:
    own = np.full(52, -1, np.float32)
    binding = session("face_blendshapes").bind({"points": wave((1, 146, 2), 256)}, {"blendshapes": own})
    assert own.max() == -1
    binding.run()
    np.testing.assert_allclose(own, expected("face_blendshapes")["blendshapes"], atol=1e-4)


def test_bindings_of_one_network_run_at_once() -> None:
    """No lock is needed on the CPU: each thread gets the answers to its own questions."""
    network, count = session("face_blendshapes"), 4
    inputs = [wave((1, 146, 2), 256 - 40 * index) for index in range(count)]
    wanted = [network.run({"points": points})["blendshapes"].copy() for points in inputs]
    bindings = [Session(network.entry).bind({"points": points}) for points in inputs]
    assert all(binding._session is network._session for binding in bindings)
    together = threading.Barrier(count, timeout=30)

    def run(index: int) -> bool:
        found = bindings[index].outputs["blendshapes"]
        for _ in range(30):
            together.wait()
            found.fill(-1)
            bindings[index].run()
            if not np.array_equal(found, wanted[index]):
                return False
        return True

    with ThreadPoolExecutor(count) as pool:
        assert all(pool.map(run, range(count)))


def test_every_size_keeps_its_own_buffers_and_few_are_kept() -> None:
    network = Session(ModelRegistry.load()["yunet"])
    sizes = [(32, 32), (64, 32), (32, 64), (96, 32), (32, 96), (64, 64)]
    for height, width in sizes * 2:
        outputs = network.run(network.empty_inputs(height=height, width=width))
        assert outputs["bbox_8"].shape == (1, height * width // 64, 4)
    assert len(network._bindings) < len(sizes)


def test_the_precision_is_that_of_the_computation_not_of_the_file() -> None:
    assert session("sface").precision == "fp32"


def test_warm_up_runs_without_data() -> None:
    session("yunet").warm_up(height=32, width=32)
    session("face_blendshapes").warm_up()


def test_the_types_of_tensors_are_those_of_the_registry() -> None:
    assert session("yunet").dtype_of("image") == session("yunet").dtype_of("kps_32") == "float32"
    with pytest.raises(GraphError, match="no tensor picture"):
        session("yunet").dtype_of("picture")


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("face_blendshapes", {}, "takes"),
        ("face_blendshapes", {"image": np.zeros((1, 146, 2), np.float32)}, "takes"),
        ("face_blendshapes", {"points": np.zeros((1, 146, 2), np.float64)}, "float64"),
        ("face_blendshapes", {"points": np.zeros((1, 478, 2), np.float32)}, "478"),
        ("face_blendshapes", {"points": np.zeros((146, 2), np.float32)}, "146"),
        ("face_blendshapes", {"points": np.zeros((1, 2, 146), np.float32).transpose(0, 2, 1)}, "contiguous"),
        ("yunet", {"image": np.zeros((1, 1, 32, 32), np.float32)}, "instead of"),
    ],
)
def test_wrong_inputs_are_refused(name: str, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        session(name).run(inputs)


def test_a_good_shape_does_not_let_a_bad_type_through() -> None:
    network = session("face_blendshapes")
    network.run(network.empty_inputs())
    with pytest.raises(GraphError, match="float64"):
        network.run({"points": np.zeros((1, 146, 2), np.float64)})


def test_a_size_the_network_cannot_take_is_a_device_error_of_one_line() -> None:
    with pytest.raises(DeviceError, match="yunet failed") as caught:
        session("yunet").warm_up(height=33, width=50)
    assert "\n" not in str(caught.value)


def test_a_named_axis_must_be_given() -> None:
    with pytest.raises(GraphError, match="height, width"):
        session("yunet").empty_inputs()


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "junk.onnx"
    path.write_bytes(b"junk")
    entry = replace(
        ModelRegistry.load()["yunet"], path=path, size_bytes=4, sha256=sha256(b"junk").hexdigest()
    )
    with pytest.raises(ModelError, match="cannot load model yunet"):
        Session(entry)


def test_a_damaged_file_is_never_loaded(tmp_path: Path) -> None:
    entry = ModelRegistry.load()["face_blendshapes"]
    content = bytearray(entry.read())
    content[len(content) // 2] ^= 1
    path = tmp_path / "damaged.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="is damaged"):
        Session(replace(entry, path=path))


@pytest.mark.parametrize("device", ["tpu", "cuda:x", "cpu:1", "", "cuda:-1", "cuda:", "cuda:0:1"])
def test_an_unknown_device_is_named(device: str) -> None:
    with pytest.raises(DeviceError, match="no inference device"):
        Session(ModelRegistry.load()["yunet"], device)


@pytest.fixture
def fresh_engine() -> Iterator[None]:
    engine.onnxruntime.cache_clear()
    yield
    engine.onnxruntime.cache_clear()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModuleNotFoundError("no"), "is not installed"),
        (ImportError("libcudart"), r"does not load \(libcudart\)"),
    ],
)
@pytest.mark.usefixtures("fresh_engine")
def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch, error: ImportError, message: str) -> None:
    def refuse(name: str) -> Any:
        raise error

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(MachineError, match=message) as caught:
        engine.onnxruntime()
    assert "uv run --extra cpu" in caught.value.remedy


@pytest.mark.usefixtures("fresh_engine")
def test_two_engines_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: object())
    with pytest.raises(MachineError, match="overwrite each other"):
        engine.onnxruntime()


def test_onnxruntime_writes_no_telemetry(tmp_path: Path) -> None:
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME")}
    variables = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    code = "from livefusion.inference import ModelRegistry, Session; Session(ModelRegistry.load()['sface'])"
    subprocess.run([sys.executable, "-c", code], env=variables | home, check=True)
    assert list(tmp_path.rglob("*")) == []
