"""Placement: a network that does not run where it was asked to is an error."""

from dataclasses import dataclass, field

import pytest

from livefusion.core.errors import DeviceError
from livefusion.inference import ModelRegistry, Placement, Session
from livefusion.inference.cuda import CUDA_PROVIDER
from livefusion.inference.placement import allow_shapes, prove_placement
from livefusion.inference.provider import CPU_PROVIDER

pytestmark = pytest.mark.unit


@dataclass
class Part:
    ep_name: str
    nodes: int

    def get_nodes(self) -> list[int]:
        return list(range(self.nodes))


@dataclass
class FakeSession:
    providers: list[str]
    parts: list[Part] = field(default_factory=list)

    def get_providers(self) -> list[str]:
        return self.providers

    def get_provider_graph_assignment_info(self) -> list[Part]:
        return self.parts


def test_a_real_session_runs_wholly_on_the_cpu() -> None:
    placement = Session(ModelRegistry.load()["face_blendshapes"]).placement
    assert placement.provider == CPU_PROVIDER
    assert placement.is_complete
    assert placement.total > 100


def test_nodes_elsewhere_are_counted_and_shown() -> None:
    fake = FakeSession(
        [CUDA_PROVIDER, CPU_PROVIDER], [Part(CUDA_PROVIDER, 5), Part(CPU_PROVIDER, 2), Part(CUDA_PROVIDER, 1)]
    )
    placement = prove_placement(fake, CUDA_PROVIDER, "net")
    assert placement == Placement(CUDA_PROVIDER, 6, 8, ((CPU_PROVIDER, 2),))
    assert not placement.is_complete
    assert str(placement) == "CUDAExecutionProvider 6/8, 2 on CPUExecutionProvider"


@pytest.mark.parametrize(
    "fake",
    [
        FakeSession([CPU_PROVIDER], [Part(CPU_PROVIDER, 3)]),
        FakeSession([CUDA_PROVIDER, CPU_PROVIDER], [Part(CPU_PROVIDER, 3)]),
        FakeSession([CPU_PROVIDER]),
    ],
    ids=["provider not active", "no node on it", "nothing known"],
)
def test_a_silent_fallback_is_an_error(fake: FakeSession) -> None:
    with pytest.raises(DeviceError, match="CUDAExecutionProvider") as caught:
        prove_placement(fake, CUDA_PROVIDER, "net")
    assert caught.value.remedy


def test_what_a_real_session_runs_elsewhere_is_named() -> None:
    session = Session(ModelRegistry.load()["face_blendshapes"])._session
    with pytest.raises(DeviceError, match=r"cannot run \(.*MatMul|cannot run \(.*Gemm|cannot run \(.*Conv"):
        allow_shapes(Placement(CUDA_PROVIDER, 1, 100), session, "net")
