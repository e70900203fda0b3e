"""The checks for a real GPU, on the stand-in: do they work, and do they notice what is wrong?"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.ops.registry import BLEND_YUVA
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
    assert len(operators) >= 19
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
        "from livefusion.ops import registry\n"
        "specs = [v for v in vars(registry).values() if isinstance(v, registry.OperatorSpec)]\n"
        "[spec.body(kind) for spec in specs for kind in ('cuda', 'reference')]\n"
        "heavy = {'cv2', 'numba', 'pydantic', 'av', 'scipy', 'onnxruntime', 'filterpy', 'PIL'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
