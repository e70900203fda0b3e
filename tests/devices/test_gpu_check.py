"""The checks for a real GPU, on the stand-in: do they work, and do they notice what is wrong?"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.ops.registry import BLEND_YUVA
from livefusion.testing.host_cupy import HostCupy
from livefusion.testing.host_twin import compiler

TOOLS = Path(__file__).parents[2] / "tools"
pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]


@pytest.fixture
def gpu_check(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    import gpu_check

    return gpu_check


def test_everything_passes_where_nothing_is_wrong(gpu_check: Any, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.json"
    assert gpu_check.main(["--stand-in", "--fast", "--json", str(sheet)]) == 0
    found = json.loads(sheet.read_text())
    assert found["machine"] == {"gpu": "Host Twin (sm_90)", "stand_in": True}
    checked = {row["check"] for row in found["rows"]}
    assert checked | found["skipped"].keys() == gpu_check.CHECKS.keys()
    operators = [row["what"] for row in found["rows"] if row["check"] == "operators" and row["bar"]]
    assert len(operators) >= 17
    assert all(row["passed"] in {True, None} for row in found["rows"])


def test_a_wrong_operator_is_noticed(
    gpu_check: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from livefusion.ops.cuda import paste

    right = paste.blend_yuva

    def shifted(kernels: Any, **arguments: Any) -> None:
        right(kernels, **{**arguments, "x": arguments["x"] + 2})

    monkeypatch.setattr(paste, "blend_yuva", shifted)
    from livefusion.ops.registry import _load

    _load.cache_clear()
    assert gpu_check.main(["--stand-in", "--fast", "--only", "operators"]) == 1
    _load.cache_clear()
    missed = [line for line in capsys.readouterr().out.splitlines() if "MISSED" in line]
    assert len(missed) == 1
    assert "blend_yuva" in missed[0]


def test_an_operator_that_gives_no_number_is_noticed(gpu_check: Any) -> None:
    from gpu_checks.cases import Case
    from gpu_checks.operators import _difference

    case = Case("blend", BLEND_YUVA, lambda *_: {}, 1.0)
    wanted = {name: np.zeros((4, 4), np.float32) for name in BLEND_YUVA.writes}
    got = {name: np.full((4, 4), np.nan, np.float32) for name in BLEND_YUVA.writes}
    assert _difference(case, wanted, got) == (np.inf, 1.0)


def test_unknown_checks_and_a_machine_without_a_gpu_are_told() -> None:
    script = [sys.executable, str(TOOLS / "gpu_check.py")]
    asked = subprocess.run([*script, "--only", "speed"], capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert "there is no check speed" in asked.stderr
    bare = subprocess.run(script, capture_output=True, text=True, check=False)
    if bare.returncode not in {0, 1}:  # a machine with a GPU runs them
        assert bare.returncode == 3
        assert len(bare.stderr.strip().splitlines()) == 1


def test_a_gpu_needs_numpy_and_cupy_alone() -> None:
    """What the checks import must be there on any CUDA machine."""
    program = (
        "import sys, livefusion.devices.cuda, livefusion.testing.twin_device, livefusion.testing.traffic\n"
        "from livefusion.ops.registry import all_operators\n"
        "[spec.body(kind) for spec in all_operators() for kind in ('cuda', 'reference')]\n"
        "heavy = {'cv2', 'numba', 'pydantic', 'av', 'scipy', 'onnxruntime', 'filterpy', 'PIL'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SEEDS = range(6)


def raced(stage: str | None, seed: int) -> int:
    """Frames that are spoilt on a GPU whose streams run as they like, if a stage does not wait."""
    from gpu_checks import streams
    from gpu_checks.frames import FramePath
    from gpu_checks.machine import Machine

    machine = Machine(HostCupy(seed), stands_in=True)
    size = Size(320, 180)
    calm = streams._pictures(FramePath(machine, size, machine.device, frames=3), 6, wait=True)
    path = FramePath(machine, size, machine.device, frames=3)
    if stage is not None:
        setattr(getattr(path, stage), "wait", lambda event: None)  # noqa: B010 what mypy knows to be a method
    hurried = streams._pictures(path, 6, wait=False)
    return sum(not np.array_equal(a, b) for a, b in zip(calm, hurried, strict=True))


@pytest.mark.usefixtures("gpu_check")
def test_the_race_is_lost_by_nobody_who_waits() -> None:
    assert [raced(None, seed) for seed in SEEDS] == [0] * len(SEEDS)


@pytest.mark.usefixtures("gpu_check")
@pytest.mark.parametrize("stage", ["decode", "analyse", "render", "encode"])
def test_the_race_notices_every_stage_that_does_not_wait(stage: str) -> None:
    """The wait of ``decode`` is that for the former readers of its slot."""
    assert any(raced(stage, seed) for seed in SEEDS)


def test_what_is_timed_is_launched_before_it_begins(gpu_check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host may be slower than 50 launches allow, or wait for the GPU after a few of them."""
    from gpu_checks.machine import Machine

    machine = Machine(HostCupy(), stands_in=True)
    machine._spin = lambda *_: None
    asked: list[int] = []

    def timed(_machine: Any, _work: Any, _stream: Any, repeats: int) -> tuple[float, bool]:
        asked.append(repeats)
        return float(repeats), repeats <= 12

    monkeypatch.setattr(Machine, "_timed", timed)
    assert machine.device_ms(lambda: None, machine.stream("s"), 50) == 12.0
    assert asked == [50, 25, 12]
