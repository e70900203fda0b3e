"""A stand-in for the module onnxruntime with CUDA: it computes nothing and remembers what it was told."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from livefusion.inference import engine, failures
from livefusion.inference.cuda import CUDA_PROVIDER
from livefusion.inference.provider import CPU_PROVIDER


class Fail(Exception):  # noqa: N818
    """What the real one raises; its exceptions share no base class of their own either."""


class Options:
    """Options of a session or a run."""

    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        self.entries[key] = value

    def add_run_config_entry(self, key: str, value: str) -> None:
        self.entries[key] = value


@dataclass
class Bound:
    """What one IOBinding was told: (device, index, dtype, shape, pointer) of each tensor."""

    inputs: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    outputs: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def bind_input(self, name: str, *where: Any) -> None:
        self.inputs[name] = where

    def bind_output(self, name: str, *where: Any) -> None:
        self.outputs[name] = where


class InferenceSession:
    """Remembers its runs as (binding, options)."""

    def __init__(self, fake: "FakeOnnxruntime", content: bytes, options: Options, **rest: Any) -> None:
        if fake.refusal is not None:
            raise fake.refusal
        if fake.operators and options.entries.get("session.disable_cpu_ep_fallback") == "1":
            raise Fail("nodes that are assigned to the default CPU EP, but fallback to CPU EP is disabled")
        self.content = content
        self.options = options
        self.rest = rest
        self.runs: list[tuple[Bound, Options | None]] = []
        self._fake = fake
        fake.sessions += 1

    def get_providers(self) -> list[str]:
        return [self.rest["providers"][0][0]]

    def get_provider_graph_assignment_info(self) -> list[Any]:
        wanted, elsewhere = self._fake.nodes
        own = self.get_providers()[0]
        left = [SimpleNamespace(op_type=name) for name in self._fake.operators]
        return [
            SimpleNamespace(ep_name=name, get_nodes=partial(list, nodes))
            for name, nodes in ((own, range(wanted)), (CPU_PROVIDER, left or range(elsewhere)))
            if nodes
        ]

    def io_binding(self) -> Bound:
        return Bound()

    def run_with_iobinding(self, binding: Bound, options: Options | None) -> None:
        if self._fake.failure is not None:
            raise self._fake.failure
        self.runs.append((binding, options))

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        raise AssertionError("shapes of outputs are known here")


class FakeOnnxruntime(ModuleType):
    """The module. ``nodes`` are those on the wanted provider and elsewhere, ``operators`` what the provider
    leaves to the CPU if it may; ``refusal`` ends the loading of a network and ``failure`` its runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__("onnxruntime")
        self.__file__ = str(folder / "onnxruntime" / "__init__.py")
        self.providers = [CUDA_PROVIDER, CPU_PROVIDER]
        self.nodes = (7, 0)
        self.operators: tuple[str, ...] = ()
        self.refusal: Exception | None = None
        self.failure: Exception | None = None
        self.sessions = 0
        self.preloads = 0
        self.SessionOptions = Options
        self.RunOptions = Options
        self.ExecutionMode = SimpleNamespace(ORT_SEQUENTIAL=0)
        self.GraphOptimizationLevel = SimpleNamespace(ORT_ENABLE_ALL=99)

    def InferenceSession(self, content: bytes, options: Options, **rest: Any) -> InferenceSession:  # noqa: N802
        return InferenceSession(self, content, options, **rest)

    def get_available_providers(self) -> list[str]:
        return self.providers

    def set_default_logger_severity(self, level: int) -> None:
        pass

    def preload_dlls(self) -> None:
        self.preloads += 1
        print("Failed to load libcublas.so.13")


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, load: Callable[[str, int], object]
) -> Iterator[FakeOnnxruntime]:
    """Put the fake in the place of the real module while a test runs; ``load`` loads shared libraries."""
    from livefusion.inference import cuda, loaded

    caches = (engine.onnxruntime, failures._foreign_errors, cuda.load_cuda)
    state = ModuleType("onnxruntime.capi.onnxruntime_pybind11_state")
    state.Fail = Fail  # type: ignore[attr-defined]
    fake = FakeOnnxruntime(folder)
    for cached in caches:
        cached.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", fake)
    monkeypatch.setitem(sys.modules, state.__name__, state)
    monkeypatch.setattr(cuda.ctypes, "CDLL", load)
    monkeypatch.setattr(loaded, "_SHARED", loaded.LoadedNetworks())
    yield fake
    for cached in caches:
        cached.cache_clear()
