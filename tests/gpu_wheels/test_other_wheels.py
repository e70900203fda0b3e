"""What we use of ONNX Runtime and of DALI exists in their wheels; other tests run it on the CPU."""

import importlib

import pytest
from signatures import fault
from uses import ROOT, Chain, uses

pytestmark = pytest.mark.gpu_wheels

ONNX_RUNTIME: dict[str, Chain] = {"onnxruntime()": ("onnxruntime",)}
DALI: dict[str, Chain] = {"dali": ("nvidia", "dali")}


@pytest.mark.parametrize(
    ("folder", "library", "known", "used"),
    [
        ("inference", "onnxruntime", ONNX_RUNTIME, {"InferenceSession", "SessionOptions", "preload_dlls"}),
        ("ops/dali", "nvidia", DALI, {"pipeline_def", "external_source", "warp_affine", "FLOAT"}),
    ],
    ids=["onnxruntime", "dali"],
)
def test_everything_we_use_exists(folder: str, library: str, known: dict[str, Chain], used: set[str]) -> None:
    for chain in known.values():
        importlib.import_module(".".join(chain))
    found = uses(ROOT / "livefusion" / folder, library, known)
    assert used <= {use.chain[-1] for use in found}
    module = importlib.import_module(library)
    assert [message for use in found if (message := fault(module, use))] == []
