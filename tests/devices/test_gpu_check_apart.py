"""Checks in processes of their own: one that dies, hangs or loses the GPU costs nobody else a figure."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from livefusion.core.errors import DeviceLostError
from livefusion.devices.cuda import library
from livefusion.testing.host_cupy import HostCupy
from livefusion.testing.host_twin import compiler

TOOLS = Path(__file__).parents[2] / "tools"
pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]
ROW = {"check": "glue", "what": "launched", "value": "1", "bar": "", "passed": None}
TELL = "import sys, os, time, json\nfile = open(sys.argv[-1], 'w')\n"


@pytest.fixture
def gpu_check(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TOOLS))
    import gpu_check

    return gpu_check


@pytest.mark.parametrize(
    ("program", "rows", "finished", "ending"),
    [
        ("pass", 1, False, "exit status 0"),
        ("print(json.dumps({'finished': True}), file=file, flush=True)", 1, True, "exit status 0"),
        ("os.abort()", 1, False, "ended by signal 6"),
        ("os._exit(1)", 1, False, "exit status 1"),
        ("time.sleep(1000)", 1, False, "not done after 1 s"),
    ],
)
def test_what_was_told_is_kept_however_it_ends(
    gpu_check: Any, program: str, rows: int, finished: bool, ending: str
) -> None:
    from gpu_checks import apart

    told = TELL + f"print({json.dumps({'row': ROW})!r}, file=file, flush=True)\n" + program
    found = apart.run([sys.executable, "-c", told], 1 if "sleep" in program else 60)
    assert [row.what for row in found.rows] == ["launched"] * rows
    assert (found.finished, found.ending) == (finished, ending)


def test_a_check_goes_on_after_the_operator_that_ended_its_process(
    gpu_check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpu_checks import apart
    from gpu_checks.sheet import Row

    fine, lost = Row("operators", "fine", "1"), Row("operators", "the check failed", "lost", "", False)
    answers = [
        apart.Found([fine, fine]),  # killed, without a word
        apart.Found([fine, lost]),  # lost, and said so
        apart.Found([fine], finished=True, gpu="a GPU"),
    ]
    asked: list[str] = []

    def run(command: list[str], patience: float) -> apart.Found:
        asked.append(command[command.index("--done") + 1])
        return answers.pop(0)

    monkeypatch.setattr(apart, "run", run)
    found = gpu_check._check_apart("operators", [], 1e9)
    assert asked == ["0", "3", "5"]
    assert [row.passed for row in found.rows] == [None, None, False, None, False, None]
    assert found.gpu == "a GPU"


def test_other_checks_are_not_begun_again(gpu_check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_checks import apart

    asked: list[float] = []
    monkeypatch.setattr(
        apart, "run", lambda _, patience: asked.append(patience) or apart.Found(ending="signal 9")
    )
    (row,) = gpu_check._check_apart("codec", [], 1e9).rows
    assert (row.passed, row.value, asked) == (False, "signal 9", [75])


def test_no_check_begins_after_the_last_minute(gpu_check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_checks import apart

    monkeypatch.setattr(apart, "run", lambda *_: pytest.fail("begun"))
    assert gpu_check._check_apart("codec", [], 0).skipped == "no time is left"


def test_a_process_tells_its_rows_as_they_come_and_goes_on_where_it_is_told(
    gpu_check: Any, tmp_path: Path
) -> None:
    from gpu_checks.cases import CASES

    told = tmp_path / "rows"
    script = [sys.executable, str(TOOLS / "gpu_check.py"), "--stand-in", "--fast", "--only", "operators"]
    subprocess.run([*script, "--rows", str(told), "--done", "16"], capture_output=True, check=True)
    said = [json.loads(line) for line in told.read_text().splitlines()]
    assert said[0] == {"gpu": "Host Twin (sm_90)"}
    names = [one["row"]["what"].removesuffix(", 720p") for one in said[1:-1]]
    assert names == [case.name for case in CASES[15:]]  # the first row is the copy's
    assert said[-1] == {"finished": True}


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [(ValueError("a wrong argument"), True), (DeviceLostError("it was lost", "restart"), False)],
)
def test_an_operator_that_fails_is_named(
    gpu_check: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, goes_on: bool
) -> None:
    from gpu_checks import operators
    from gpu_checks.cases import CASES

    right = operators._compared

    def failing(machine: Any, case: Any, size: str) -> Any:
        if case.name == "blend_yuva":
            raise error
        return right(machine, case, size)

    monkeypatch.setattr(operators, "_compared", failing)
    sheet = tmp_path / "sheet.json"
    assert gpu_check.main(["--stand-in", "--fast", "--only", "operators", "--json", str(sheet)]) == 1
    found = json.loads(sheet.read_text())["rows"]
    (missed,) = [row for row in found if row["passed"] is False]
    assert "blend_yuva" in missed["what"] + missed["value"]
    last = len(CASES) if goes_on else [case.name for case in CASES].index("blend_yuva") + 1
    assert len(found) == 1 + last  # the first row is the copy's


def test_a_machine_with_numpy_and_cupy_alone_is_enough(tmp_path: Path) -> None:
    """Without the packages that the product has besides, on the stand-in for CuPy."""
    blocked = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in {'platformdirs', 'av', 'cv2', 'scipy', 'pydantic', 'numba'}:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Block())\n"
        f"sys.path.insert(0, {str(TOOLS)!r})\n"
        "from importlib import util\n"
        "find = util.find_spec\n"
        "def find_spec(name):\n"
        "    try: return find(name)\n"
        "    except ModuleNotFoundError: return None\n"
        "util.find_spec = find_spec\n"
        "import gpu_check\n"
        "sys.exit(gpu_check.main(['--stand-in', '--fast', '--only', 'inventory,glue,graph']))\n"
    )
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "graph      skipped: " in done.stdout


def test_cupy_before_14_has_another_name_for_our_stream() -> None:
    old = SimpleNamespace(cuda=SimpleNamespace(Stream=object, ExternalStream=lambda handle: handle))
    assert library.current(old, SimpleNamespace(handle=7)) == 7


@pytest.mark.parametrize(
    ("says", "value", "passed"),
    [
        ("operators  took 3.1 s\n========= ERROR SUMMARY: 0 errors", "0 errors", True),
        ("operators  took 3.1 s\n========= ERROR SUMMARY: 10 errors", "10 errors", False),
        ("operators  took 3.1 s\n= RACECHECK SUMMARY: 0 hazards displayed", "0 hazards displayed", True),
        ("operators  took 3.1 s\n= RACECHECK SUMMARY: 2 hazards displayed", "2 hazards displayed", False),
        ("========= ERROR SUMMARY: 0 errors", "the operators did not run through: exit status 0", False),
        ("", "the operators did not run through: exit status 0", False),
    ],
)
def test_the_sanitizer_is_believed_if_the_operators_ran(
    gpu_check: Any, tmp_path: Path, says: str, value: str, passed: bool
) -> None:
    from gpu_checks import sanitizer

    tool = tmp_path / "compute-sanitizer"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    tool.chmod(0o755)
    assert sanitizer._errors(str(tool), "memcheck") == (value, "0 errors", passed)


def test_without_an_engine_the_frame_is_measured_all_the_same(gpu_check: Any) -> None:
    from gpu_checks import network
    from gpu_checks.machine import Machine

    machine = Machine(HostCupy(), stands_in=True)
    machine.stands_in = False  # so that engines are tried: neither PyTorch nor cuBLAS works on it
    assert network.build(machine).name.startswith("none: Torch: ")


def test_a_gpu_that_cannot_be_opened_is_told_once(gpu_check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_checks import apart

    asked: list[list[str]] = []
    monkeypatch.setattr(gpu_check, "_cupy", lambda stand_in: None)
    monkeypatch.setattr(
        apart, "run", lambda command, _: asked.append(command) or apart.Found(ending="exit status 3")
    )
    with pytest.raises(SystemExit) as caught:
        gpu_check.main([])
    assert (caught.value.code, len(asked)) == (3, 1)
