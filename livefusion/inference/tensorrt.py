"""Engines of TensorRT and TensorRT for RTX: built once, off the live path, and used where they still fit.

An engine takes minutes to build and fits one GPU, driver and version alone. So ``livefusion models build``
makes it, a key says for what, and a live session takes it only if every word of the key is still true: the
provider would otherwise build anew while frames wait. Written against the documented options; no GPU was at
hand to run it.
"""

import hashlib
import importlib.metadata
import json
import os
import shutil
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from livefusion.core.errors import DeviceError
from livefusion.devices.nvidia import gpu
from livefusion.inference.engine import onnxruntime
from livefusion.inference.provider import Place

SCHEMA = "livefusion.engine/1"
ENGINES_VARIABLE = "LIVEFUSION_ENGINES"
KEY_FILE = "key.json"
WORKSPACE: Final = 2 << 30
"""Bytes that a tactic may take while an engine is built."""


class Builder(StrEnum):
    """Who builds engines: TensorRT, or its relation for GeForce and RTX cards; by ONNX Runtime's names."""

    TENSORRT = "TensorrtExecutionProvider"
    RTX = "NvTensorRTRTXExecutionProvider"


_PACKAGES: Final = {
    Builder.TENSORRT: ("tensorrt-cu13", "tensorrt-cu12", "tensorrt"),
    Builder.RTX: ("tensorrt-rtx-cu13", "tensorrt-rtx-cu12", "tensorrt-rtx"),
}


@dataclass(frozen=True, slots=True)
class EngineKey:
    """What an engine was made of and for; if one word differs, it is another engine."""

    sha256: str
    builder: str
    fp16: bool
    gpu: str
    compute: str
    driver: str
    onnxruntime: str
    tensorrt: str

    @property
    def folder(self) -> str:
        """Name of its folder: the model's hash, and one of all else."""
        rest = json.dumps(asdict(self), sort_keys=True).encode()
        return f"{self.sha256[:16]}-{hashlib.sha256(rest).hexdigest()[:12]}"


def engine_key(sha256: str, place: Place, builder: Builder, *, fp16: bool) -> EngineKey | None:
    """The key of a model's engine on this machine as it is now; None without such a GPU."""
    found = gpu(place.index)
    if found is None:
        return None
    return EngineKey(
        sha256,
        builder.value,
        fp16,
        found.name,
        found.compute,
        found.driver,
        str(onnxruntime().__version__),
        _version(builder),
    )


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: who builds it, the folder that it lies in, and whether it computes in half precision."""

    builder: Builder
    folder: Path
    fp16: bool

    def provider_options(self, index: int, stream: int | None, *, graphs: bool = False) -> dict[str, str]:
        """The options as ONNX Runtime's provider takes them, so that it reads and writes in the folder."""
        options = {"device_id": str(index)}
        if stream is not None:
            options |= {"has_user_compute_stream": "1", "user_compute_stream": str(stream)}
        if self.builder is Builder.RTX:
            return options | {
                "nv_runtime_cache_path": str(self.folder),
                "nv_max_workspace_size": str(WORKSPACE),
                "enable_cuda_graph": str(int(graphs)),
            }
        return options | {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": str(self.folder),
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": str(self.folder),
            "trt_fp16_enable": str(int(self.fp16)),
            "trt_max_workspace_size": str(WORKSPACE),
            "trt_cuda_graph_enable": str(int(graphs)),
        }


class Engines:
    """The folders of engines under ``root``, by default in the user's cache."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or _user_engines()

    def fitting(self, sha256: str, place: Place) -> Engine | None:
        """The engine that was built for a model on this machine as it is now."""
        if not any(self.root.glob(f"{sha256[:16]}-*/{KEY_FILE}")):
            return None  # nearly always: the driver is not even asked
        for builder in Builder:
            for fp16 in (True, False):
                key = engine_key(sha256, place, builder, fp16=fp16)
                if key is not None and self._is_built(key):
                    return Engine(builder, self.root / key.folder, fp16)
        return None

    def begin(self, key: EngineKey) -> Engine:
        """An empty folder for an engine; it does not count before ``finish``."""
        folder = self.root / key.folder
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise DeviceError(
                f"cannot make {folder} ({error.strerror})", f"set {ENGINES_VARIABLE} to a folder of yours"
            ) from error
        return Engine(Builder(key.builder), folder, key.fp16)

    def finish(self, key: EngineKey) -> None:
        """Have an engine count from now on."""
        target = self.root / key.folder / KEY_FILE
        part = target.with_suffix(".part")
        part.write_text(json.dumps({"schema": SCHEMA, **asdict(key)}, indent=2) + "\n", encoding="utf-8")
        part.replace(target)

    def remove(self, sha256: str) -> int:
        """Delete every engine of a model, for any GPU; how many there were."""
        folders = list(self.root.glob(f"{sha256[:16]}-*"))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        return len(folders)

    def remove_one(self, key: EngineKey) -> None:
        """Delete what there is of one engine."""
        shutil.rmtree(self.root / key.folder, ignore_errors=True)

    def _is_built(self, key: EngineKey) -> bool:
        try:
            written = json.loads((self.root / key.folder / KEY_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return bool(written == {"schema": SCHEMA, **asdict(key)})


def require(builder: Builder) -> None:
    """``DeviceError`` unless this onnxruntime has the provider."""
    if builder.value not in onnxruntime().get_available_providers():
        raise DeviceError(
            f"this onnxruntime has no {builder.value}",
            "install the extra cuda for TensorRT, or an onnxruntime with TensorRT for RTX",
        )


def _user_engines() -> Path:
    chosen = os.environ.get(ENGINES_VARIABLE)
    if chosen:
        return Path(chosen)
    import platformdirs

    return platformdirs.user_cache_path("livefusion") / "engines"


def _version(builder: Builder) -> str:
    for package in _PACKAGES[builder]:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of the system"
