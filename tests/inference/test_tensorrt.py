"""Engines of TensorRT: what they are keyed by, when they are used, and what ONNX Runtime is told."""

import importlib.metadata
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_onnxruntime
import pytest

from livefusion.cli.main import main
from livefusion.devices.nvidia import Gpu
from livefusion.inference import ModelRegistry, tensorrt
from livefusion.inference.cuda import CUDA_PROVIDER
from livefusion.inference.loaded import load_network
from livefusion.inference.provider import Place
from livefusion.inference.tensorrt import Builder, Engine, Engines, engine_key

pytestmark = pytest.mark.unit

ENTRY = ModelRegistry.load()["face_blendshapes"]
PLACE = Place("cuda", 1)
ADA = Gpu("NVIDIA RTX 6000 Ada Generation", "8.9", "580.95.05")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_onnxruntime.FakeOnnxruntime]:
    """A fake onnxruntime with both providers, on a machine with one GPU and no engine."""
    for fake in fake_onnxruntime.install(monkeypatch, tmp_path, lambda library, mode=0: object()):
        fake.__version__ = "1.31.1"
        fake.providers = [Builder.TENSORRT.value, Builder.RTX.value, *fake.providers]
        monkeypatch.setattr("livefusion.inference.engine._is_installed", lambda name: False)
        monkeypatch.setattr(tensorrt, "gpu", lambda index: ADA)
        monkeypatch.setenv("LIVEFUSION_ENGINES", str(tmp_path / "engines"))
        yield fake


def loaded() -> Any:
    """The session of a live run."""
    return load_network(ENTRY, PLACE, None, threads=1, graphs=False).runtime


def providers(session: Any) -> list[str]:
    return [name for name, _ in session.rest["providers"]]


@pytest.mark.parametrize(
    ("flags", "builder", "fp16"),
    [([], Builder.TENSORRT, "0"), (["--fp16"], Builder.TENSORRT, "1"), (["--rtx"], Builder.RTX, None)],
)
def test_a_run_uses_what_was_built_for_this_machine(
    runtime: fake_onnxruntime.FakeOnnxruntime, flags: list[str], builder: Builder, fp16: str | None
) -> None:
    assert providers(loaded()) == [CUDA_PROVIDER]
    assert main(["models", "build", ENTRY.name, "--device", "cuda:1", *flags]) == 0
    session = loaded()
    assert providers(session) == [builder.value, CUDA_PROVIDER]
    options = session.rest["providers"][0][1]
    assert options["device_id"] == "1"
    assert options.get("trt_fp16_enable") == fp16
    path = Path(options["nv_runtime_cache_path" if builder is Builder.RTX else "trt_engine_cache_path"])
    written = json.loads((path / "key.json").read_text())
    assert (written["sha256"], written["gpu"], written["driver"]) == (ENTRY.sha256, ADA.name, ADA.driver)
    assert main(["models", "build", ENTRY.name, "--remove"]) == 0
    assert providers(loaded()) == [CUDA_PROVIDER]


@pytest.mark.parametrize(
    "change",
    [{"driver": "590.1"}, {"name": "NVIDIA GeForce RTX 5090"}, {"compute": "12.0"}],
    ids=lambda change: next(iter(change)),
)
def test_an_engine_for_another_machine_is_left_alone(
    runtime: fake_onnxruntime.FakeOnnxruntime, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
) -> None:
    """Used, it would be built anew while frames wait."""
    main(["models", "build", ENTRY.name])
    monkeypatch.setattr(tensorrt, "gpu", lambda index: replace(ADA, **change))
    assert providers(loaded()) == [CUDA_PROVIDER]


def test_an_engine_of_another_version_is_left_alone(
    runtime: fake_onnxruntime.FakeOnnxruntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["models", "build", ENTRY.name])
    runtime.__version__ = "1.32.0"
    assert providers(loaded()) == [CUDA_PROVIDER]
    runtime.__version__ = "1.31.1"
    monkeypatch.setattr(importlib.metadata, "version", lambda package: "11.0")
    assert providers(loaded()) == [CUDA_PROVIDER]


def test_a_build_that_fails_leaves_nothing(
    runtime: fake_onnxruntime.FakeOnnxruntime, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime.refusal = fake_onnxruntime.Fail("TensorRT EP failed to create engine from network")
    assert main(["models", "build", ENTRY.name]) == 3
    assert "failed to create engine" in capsys.readouterr().err
    runtime.refusal = None
    assert providers(loaded()) == [CUDA_PROVIDER]
    assert list(Engines().root.iterdir()) == []


def test_an_engine_that_does_not_load_gives_way_to_cuda_and_says_so(
    runtime: fake_onnxruntime.FakeOnnxruntime,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["models", "build", ENTRY.name])
    whole = runtime.InferenceSession

    def refuse(content: bytes, options: Any, **rest: Any) -> Any:
        if rest["providers"][0][0] != CUDA_PROVIDER:
            raise fake_onnxruntime.Fail("engine deserialization failed on CUDA")
        return whole(content, options, **rest)

    monkeypatch.setattr(runtime, "InferenceSession", refuse)
    assert providers(loaded()) == [CUDA_PROVIDER]
    assert "not in the engine built for it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ([ENTRY.name, "--device", "cpu"], 2, "is no GPU"),
        (["no_such_model"], 3, "no model is called"),
    ],
)
def test_what_cannot_be_built_is_said(
    runtime: fake_onnxruntime.FakeOnnxruntime,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
    reason: str,
) -> None:
    assert main(["models", "build", *words]) == status
    assert reason in capsys.readouterr().err


def test_without_the_provider_or_a_gpu_nothing_is_begun(
    runtime: fake_onnxruntime.FakeOnnxruntime,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runtime.providers.remove(Builder.RTX.value)
    assert main(["models", "build", ENTRY.name, "--rtx"]) == 3
    assert "has no NvTensorRTRTXExecutionProvider" in capsys.readouterr().err
    monkeypatch.setattr(tensorrt, "gpu", lambda index: None)
    assert main(["models", "build", ENTRY.name]) == 3
    assert "there is no cuda" in capsys.readouterr().err
    assert engine_key(ENTRY.sha256, PLACE, Builder.TENSORRT, fp16=False) is None
    assert not Engines().root.exists()


def test_the_stream_of_the_graph_is_handed_on(tmp_path: Path) -> None:
    options = Engine(Builder.TENSORRT, tmp_path, True).provider_options(0, 4711, graphs=True)
    assert options["user_compute_stream"] == "4711"
    assert options["has_user_compute_stream"] == "1"
    assert options["trt_cuda_graph_enable"] == "1"
