"""The kernels compile for every architecture and keep their budget of registers and memory."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import build_kernels
from kernel_build import budget, nvcc
from kernel_build.usage import ARCHITECTURES, BuildError, Usage, parse_log

from livefusion.devices.kernels import kernel_source, source_digest

pytestmark = pytest.mark.unit
needs_nvcc = pytest.mark.skipif(nvcc.find_nvcc() is None, reason="needs nvcc of CUDA 12.8 or later")

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'lf_wide' for 'sm_90'
ptxas info    : Function properties for lf_wide
ptxas         .     16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for helper
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 2048 bytes smem
ptxas info    : Compiling entry function 'lf_slim' for 'sm_120'
ptxas info    : Function properties for lf_slim
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers, 360 bytes cmem[0]
"""
SLIM = Usage(registers=30)


def test_the_log_of_the_assembler_is_read() -> None:
    assert parse_log(LOG) == {
        ("lf_wide", 90): Usage(registers=255, stack=40, spilled=20, shared=2048),
        ("lf_slim", 120): SLIM,
    }


@pytest.mark.parametrize(
    ("measured", "allowed", "what"),
    [
        (SLIM, SLIM, []),
        (replace(SLIM, registers=31), SLIM, ["registers"]),
        (replace(SLIM, spilled=4), SLIM, ["spilled"]),
        (replace(SLIM, stack=8), replace(SLIM, stack=8), []),
        (replace(SLIM, stack=16, shared=4), replace(SLIM, stack=8), ["stack", "shared"]),
        (SLIM, None, ["registers"]),
    ],
)
def test_what_exceeds_its_budget_is_told(measured: Usage, allowed: Usage | None, what: list[str]) -> None:
    key = ("lf_slim", 120)
    found = budget.excesses({key: measured}, {} if allowed is None else {key: allowed})
    assert [excess.what for excess in found] == what
    assert all("lf_slim" in str(excess) and "sm_120" in str(excess) for excess in found)


def test_the_budget_keeps_what_was_measured_and_no_spills(tmp_path: Path) -> None:
    path = tmp_path / "budget.toml"
    measured = {
        (kernel, architecture): Usage(registers, stack=8 * (architecture == 75), shared=shared)
        for architecture in ARCHITECTURES
        for kernel, registers, shared in (("lf_slim", 30, 0), ("lf_sums", 126, 1024))
    }
    budget.write_budget(measured, ["NVRTC 1.0"], path)
    allowed = budget.read_budget(path)
    assert budget.excesses(measured, allowed) == []
    assert allowed["lf_slim", 75] == Usage(30 + budget.HEADROOM, stack=8)
    assert allowed["lf_sums", 120] == Usage(budget.MOST_REGISTERS, shared=1024)
    assert budget.strangers({("lf_slim", 75): SLIM}, allowed) == ["lf_sums"]


@pytest.mark.parametrize("usage", [Usage(129), Usage(30, spilled=4)])
def test_no_budget_allows_spills_or_too_many_registers(
    usage: Usage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {("lf_wide", architecture): usage for architecture in ARCHITECTURES}
    monkeypatch.setattr(build_kernels, "measure", lambda: (measured, ["NVRTC 1.0"]))
    monkeypatch.setattr(budget, "PATH", tmp_path / "budget.toml")
    assert build_kernels.main(["--update"]) == 1
    assert budget.excesses(measured, budget.read_budget(budget.PATH))


@needs_nvcc
def test_every_kernel_keeps_its_budget_by_nvcc() -> None:
    # The oldest, the largest and the newest: tools/build_kernels.py --check does all, by NVRTC.
    some = (75, 90, 120)
    measured, allowed = nvcc.measure(kernel_source(), some), budget.read_budget(budget.PATH)
    assert {architecture for _, architecture in measured} == set(some)
    assert not [str(excess) for excess in budget.excesses(measured, allowed)], (
        "tools/build_kernels.py --update?"
    )
    assert budget.strangers(measured, allowed) == []


@needs_nvcc
def test_a_fatbin_stands_beside_the_digest_of_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_kernels, "kernel_source", lambda: 'extern "C" __global__ void lf_none() {}')
    output = tmp_path / "livefusion.fatbin"
    assert build_kernels.fatbin(output) == 0
    assert output.read_bytes()[:4] == b"\x50\xed\x55\xba"  # the magic number of a fatbin
    assert (tmp_path / "livefusion.digest").read_text().strip() == source_digest()


@needs_nvcc
def test_what_the_compiler_refuses_is_told() -> None:
    with pytest.raises(BuildError, match="no_such_function"):
        nvcc.measure('extern "C" __global__ void lf_bad() { no_such_function(); }', (90,))
