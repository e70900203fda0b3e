"""Names of TensorRT's options against the provider in the wheel of onnxruntime-gpu."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from livefusion.inference.tensorrt import Builder, Engine

pytestmark = pytest.mark.gpu_wheels


def test_the_provider_knows_every_option(tmp_path: Path) -> None:
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    library = Path(spec.origin).parent / "capi" / "libonnxruntime_providers_tensorrt.so"
    if not library.exists():
        pytest.skip("this onnxruntime has no TensorRT")
    content = library.read_bytes()
    for name in Engine(Builder.TENSORRT, tmp_path, True).provider_options(0, 1):
        assert name.encode() + b"\0" in content  # linkers keep one text for those that end alike
