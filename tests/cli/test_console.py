"""What is written to the terminal, and what happens when it cannot be."""

import errno
import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.logs import ConsoleHandler
from livefusion.cli.main import main
from livefusion.core.errors import OutputError

pytestmark = pytest.mark.unit


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_was_noted_is_known_to_be_said() -> None:
    console = Console(io.StringIO(), io.StringIO())
    console.note("livefusion: error: out.mp4 failed: disk full")
    assert console.said("disk full")
    assert not console.said("disk empty")


def test_a_full_disk_behind_stdout_is_an_error_of_the_output() -> None:
    with pytest.raises(OutputError, match="No space left on device"):
        Console(Full(), io.StringIO()).result("text")


def test_a_stderr_that_takes_nothing_does_not_end_the_run() -> None:
    console = Console(io.StringIO(), Full())
    console.note("warning")
    closed = io.StringIO()
    closed.close()
    Console(io.StringIO(), closed).note("warning")


def test_a_name_that_is_no_text_becomes_json_that_can_be_read(tmp_path: Path) -> None:
    name = os.fsdecode(b"bad\xff.mp4")
    write_json(tmp_path / "r.json", {"uri": name}, Console(io.StringIO(), io.StringIO()))
    assert json.loads((tmp_path / "r.json").read_bytes())["uri"] == name


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors as a shell does")
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_not_lend_its_number_to_a_file(closed: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from livefusion.cli.console import Console\n"
        "from livefusion.cli.logs import fill_standard_streams\n"
        "fill_standard_streams()\n"
        "file = open(sys.argv[1], 'w')\n"
        "Console().note('x')\n"
        "Console().result('x')\n"
        "file.write(str(file.fileno()))\n"
    )
    end = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', sys.executable, str(script), str(tmp_path / "out")],
        timeout=60,
        check=False,
    )
    assert end.returncode == 0
    assert int((tmp_path / "out").read_text()) > 2


@pytest.mark.parametrize("template", ["text %s", "text %d"])
def test_a_log_line_that_cannot_be_written_ends_nothing(template: str) -> None:
    err = io.StringIO()
    handler = ConsoleHandler(Console(io.StringIO(), err))
    err.close()
    handler.emit(logging.LogRecord("livefusion", logging.ERROR, __file__, 1, template, ("x",), None))


def test_a_status_line_on_a_closed_stream_is_no_fault() -> None:
    err = io.StringIO()
    console = Console(io.StringIO(), err)
    err.close()
    console.status("running")
    console.status("")


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "clip.mp4"],
        ["doctor"],
        ["models", "list"],
        ["audit", "verify"],
        ["eval", "clip.mp4"],
        ["bench", "marks"],
        ["identity", "check", "a.jpg"],
        ["identity", "suggest", "clip.mp4"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_report_that_cannot_be_written_is_known_before_any_work(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "none" / "r.json"
    assert main([*words, "--json", str(target)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith(
        f"r.json cannot be written (there is no folder {target.parent}): make it, or choose another one\n"
    )
    assert said.err.count("\n") == 1


def test_stdout_is_always_there() -> None:
    assert json_target("-") == Path("-")
