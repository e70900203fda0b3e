"""Every end of the command line: help, one line for what is wrong, and the exit status."""

import os
import subprocess
import sys
import types
from collections.abc import Callable

import pytest

from livefusion import __version__
from livefusion.cli import main as main_module
from livefusion.cli.commands import COMMANDS, Command
from livefusion.cli.main import main
from livefusion.cli.parser import CommandParser
from livefusion.core import errors

pytestmark = pytest.mark.unit

HEAVY = ("numpy", "pydantic", "cv2", "av", "onnxruntime", "numba", "scipy", "filterpy", "PIL")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], int]], None]:
    """Puts a command ``act`` in the table whose run is the given function."""

    def install(act: Callable[[], int]) -> None:
        module = types.ModuleType("fake_command")
        module.parser = lambda: CommandParser("livefusion act", "Act.", "livefusion act")  # type: ignore[attr-defined]
        module.run = lambda arguments, console: act()  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "fake_command", module)
        monkeypatch.setattr(main_module, "COMMANDS", (Command("act", "fake_command", "act"),))

    return install


def raising(error: BaseException) -> Callable[[], int]:
    def act() -> int:
        raise error

    return act


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["help"], ["-v", "--help"]])
def test_overview_names_every_command_and_shows_examples(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert "examples:" in out
    assert all(out.count(f"\n  {command.name} ") == 1 for command in COMMANDS)
    assert not err


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_help_of_every_command_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    out, _ = capsys.readouterr()
    assert f"example:\n  livefusion {name}" in out


@pytest.mark.parametrize("action", ["list", "add", "revoke"])
def test_help_of_every_identity_action_has_an_example(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identity", action, "--help"]) == 0
    assert f"example:\n  livefusion identity {action}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"livefusion {__version__}\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["rum"], "there is no command rum: did you mean run?"),
        (["frobnicate"], "there is no command frobnicate: see `livefusion --help`"),
        (
            ["run", "--on-missing-fac", "blur"],
            "livefusion run does not know --on-missing-fac: did you mean --on-m",
        ),
        (["run", "a.mp4"], "livefusion run does not know a.mp4: if that is what to read, write -i a.mp4"),
        (["run", "--xyzzy"], "livefusion run does not know --xyzzy: see `livefusion run --help`"),
        (["run", "-i"], "argument -i/--input: expected one argument: see `livefusion run --help`"),
        (["run"], "there is nothing to read: add -i camera:0, -i FILE or -i performer:"),
        (["run", "-i", "a.mp4"], "there is nowhere to write: add -o FILE.mp4, -o vcam: or -o null:"),
        (
            ["run", "-i", "a", "-o", "b", "--fps", "0"],
            "--fps '0' is not valid: it is a number above 0 and up to 240",
        ),
        (["demo", "--device", "gpu"], "--device 'gpu' is not valid: it is auto, cpu, cuda or cuda:N"),
        (["models"], "the following arguments are required: list|check|add|fetch"),
        (["models", "get"], "invalid choice: 'get'"),
        (["identity", "ad"], "invalid choice: 'ad'"),
        (["identity", "list", "--nams"], "did you mean --names?"),
        (["settings", "--schema", "--reference"], "not allowed with argument"),
    ],
)
def test_a_wrong_request_is_one_line_and_status_2(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("livefusion: error: ")
    assert text in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (errors.InputError("no such file", "check it"), 2, "livefusion: error: no such file: check it\n"),
        (errors.DriverError("port taken"), 3, "livefusion: error: port taken\n"),
        (errors.SafetyStopError("stopped"), 4, "livefusion: error: stopped\n"),
        (errors.GraphError("two\nlines"), 1, "livefusion: error: two lines\n"),
        (
            ModuleNotFoundError("x", name="onnxruntime"),
            3,
            "livefusion: error: the package onnxruntime is missing: ",
        ),
        (
            ModuleNotFoundError("x", name="livefusion.none"),
            1,
            "livefusion: error: a fault of LiveFusion itself, Mod",
        ),
        (
            ZeroDivisionError("by zero"),
            1,
            "livefusion: error: a fault of LiveFusion itself, ZeroDivisionError (by",
        ),
        (KeyboardInterrupt(), 130, "livefusion: interrupted\n"),
        (SystemExit(5), 5, ""),
    ],
)
def test_exit_status_follows_the_error_tree(
    error: BaseException,
    status: int,
    text: str,
    command: Callable[[Callable[[], int]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command(raising(error))
    assert main(["act"]) == status
    err = capsys.readouterr().err
    assert err.startswith(text)
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["act", "--debug"], ["--debug", "act"]])
def test_debug_shows_the_traceback_and_the_cause(
    words: list[str], command: Callable[[Callable[[], int]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def act() -> int:
        try:
            raise OSError("the root of it")
        except OSError as error:
            raise errors.InputError("cannot read") from error

    command(act)
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "the root of it" in err
    assert err.endswith("livefusion: error: cannot read\n")


@pytest.mark.parametrize(
    ("words", "level"), [(["act"], 30), (["act", "-v"], 20), (["-v", "act"], 20), (["act", "-vv"], 10)]
)
def test_verbosity_may_stand_on_both_sides_of_the_command(
    words: list[str], level: int, command: Callable[[Callable[[], int]], None]
) -> None:
    import logging

    command(lambda: 0)
    assert main(words) == 0
    assert logging.getLogger("livefusion").level == level


def test_the_entry_imports_nothing_heavy() -> None:
    code = f"import sys, livefusion.cli.main; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


@pytest.mark.skipif(os.name != "posix", reason="needs /bin/sh")
def test_a_closed_pipe_is_no_error() -> None:
    line = f"{sys.executable} -m livefusion.cli.main settings --schema; echo status $? >&2"
    ended = subprocess.run(
        ["/bin/sh", "-c", f"({line}) | head -c 1 >/dev/null"], capture_output=True, text=True, check=True
    )
    assert "Traceback" not in ended.stderr
    assert "error" not in ended.stderr


def test_native_chatter_does_not_reach_the_user_and_our_lines_do() -> None:
    code = (
        "import os, sys; from livefusion.cli.logs import silence_libraries; silence_libraries();"
        "os.write(2, b'[libx264] chatter'); print('ours', file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == "ours\n"


@pytest.mark.parametrize("words", [["--help"], ["settings"], ["nonsense"]])
def test_a_console_without_unicode_is_no_fault(words: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "livefusion.cli.main", *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        check=False,
    )
    assert ended.returncode == (2 if words == ["nonsense"] else 0)
    assert "fault" not in ended.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_crash_in_native_code_is_seen() -> None:
    code = (
        "import ctypes; from livefusion.cli.logs import silence_libraries;"
        "silence_libraries(); ctypes.string_at(0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode < 0
    assert "Segmentation fault" in ended.stderr


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_gpu_that_is_asked_for_and_not_there_is_status_3_with_the_remedy(
    device: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_library(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr("livefusion.devices.select.ctypes.CDLL", no_library)
    assert main(["run", "-i", "performer:", "-o", "null:", "--device", device]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "there is no NVIDIA driver here" in err
    assert "or use --device cpu" in err
