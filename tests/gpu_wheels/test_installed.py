"""The packages of the extra ``cuda`` are what is tested here: without them this run would prove nothing."""

import tomllib
from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.requirements import Requirement
from uses import ROOT

pytestmark = pytest.mark.gpu_wheels

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRED = [Requirement(line) for line in _PROJECT["optional-dependencies"]["cuda"]]


@pytest.mark.parametrize("requirement", REQUIRED, ids=lambda requirement: requirement.name)
def test_the_package_is_installed(requirement: Requirement) -> None:
    if requirement.marker is None or requirement.marker.evaluate():
        assert version(requirement.name) in requirement.specifier


def test_the_other_onnx_runtime_is_not() -> None:
    with pytest.raises(PackageNotFoundError):
        version("onnxruntime")
