"""Files that a run would spoil or could not write are known before it."""

import os
from pathlib import Path

import pytest

from livefusion.cli.main import main
from livefusion.cli.preflight import check_files
from livefusion.core.errors import OutputError
from livefusion.core.settings import Settings

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mp4").write_bytes(b"clip")
    Path("me.jpg").write_bytes(b"photo")
    Path("sub").mkdir()
    Path("sub.mp4").mkdir()


@pytest.mark.parametrize(
    "wanted",
    [
        {"output": ("out.mp4", "null:", "out.mkv"), "report": "r.json", "trace": "t.json"},
        {"output": ("none/out.mp4", "null:"), "report": "-"},
        {"output": ("none/out.mp4", "out.mp4")},
        {"input": "camera:0", "output": ("in.mp4",)},
    ],
)
def test_what_can_be_done_is_let_through(wanted: dict[str, object]) -> None:
    check_files(Settings.model_validate({"input": "in.mp4"} | wanted))


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"output": ("sub/../in.mp4",)}, "sub/../in.mp4 is the input itself"),
        ({"output": ("a.mp4", "sub/../a.mp4")}, "is named twice, as a.mp4 too"),
        ({"report": "in.mp4"}, "--report in.mp4 is the input itself"),
        ({"source": "me.jpg", "trace": "me.jpg"}, "--trace me.jpg is the source itself"),
        ({"output": ("a.mp4",), "report": "a.mp4"}, "--report a.mp4 is named twice"),
        ({"report": "a.json", "trace": "a.json"}, "--trace a.json is named twice"),
        ({"output": ("none/a.mp4",)}, "none/a.mp4 cannot be written (there is no folder none): make it"),
        ({"output": ("sub.mp4",)}, "sub.mp4 cannot be written (it is a folder): name a file"),
        ({"output": ("x" * 300 + ".mp4",)}, "cannot be written (its name is too long): choose a shorter one"),
    ],
)
def test_an_output_that_would_spoil_something_is_refused(wanted: dict[str, object], says: str) -> None:
    with pytest.raises(OutputError) as caught:
        check_files(Settings.model_validate({"input": "in.mp4", "output": ("null:",)} | wanted))
    assert says in str(caught.value)
    assert Path("in.mp4").read_bytes() == b"clip"


@pytest.mark.parametrize("flag", ["report", "trace"])
@pytest.mark.parametrize(("path", "says"), [("sub", "it is a folder"), ("none/x", "there is no folder none")])
def test_figures_that_cannot_be_written_are_refused(flag: str, path: str, says: str) -> None:
    with pytest.raises(OutputError, match=rf"--{flag} {path} cannot be written \({says}\)"):
        check_files(Settings.model_validate({"input": "in.mp4", "output": ("null:",), flag: path}))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo("pipe.mp4")
    with pytest.raises(OutputError, match="it is a pipe"):
        check_files(Settings(input="in.mp4", output=("pipe.mp4",)))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--json", "none/figures.json"],
            "none/figures.json cannot be written (there is no folder none): make it",
        ),
        (["--keep", "in.mp4"], "the folder in.mp4 cannot be made (it is a file): name a folder"),
        (["--seconds", "inf"], "there is nothing to measure"),
    ],
)
def test_a_bench_that_would_be_in_vain_does_not_begin(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    assert says in capsys.readouterr().err
