"""Progress: a live line on a terminal, plain lines elsewhere, and nothing garbled."""

import io
from dataclasses import dataclass, replace

import pytest

from livefusion.cli.console import Console
from livefusion.cli.progress import COMPILE_SECONDS, PLAIN_INTERVAL, ProgressView, progress_line

pytestmark = pytest.mark.unit


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Figures:
    """Stands in for the pipeline's progress."""

    fps: float = 29.97
    p95_ms: float = 12.34
    dropped: int = 0
    tracks: int = 1
    device: str = "cpu"
    delivered: int = 450
    captured: int = 452
    total: int | None = None
    left_out: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (Figures(), "450 pictures · 30.0 fps · delay 12 ms · 0 skipped · 1 face · cpu"),
        (
            Figures(tracks=2, total=900),
            " 50% · 0:15 left · 30.0 fps · delay 12 ms · 0 skipped · 2 faces · cpu",
        ),
        (Figures(total=900, fps=0.0, tracks=0), " 50% · 0.0 fps · delay 12 ms · 0 skipped · 0 faces · cpu"),
        (Figures(total=100), "100% · 0:00 left · 30.0 fps · delay 12 ms · 0 skipped · 1 face · cpu"),
        (
            Figures(left_out=("occlusion",)),
            "450 pictures · 30.0 fps · delay 12 ms · 0 skipped · 1 face · cpu · without occlusion",
        ),
        (Figures(total=0), "450 pictures · 30.0 fps · delay 12 ms · 0 skipped · 1 face · cpu"),
    ],
)
def test_line(figures: Figures, text: str) -> None:
    assert progress_line(figures) == text


def test_plain_lines_come_seldom() -> None:
    now = [100.0]
    err = io.StringIO()
    view = ProgressView(Console(io.StringIO(), err), lambda: now[0])
    for _ in range(45):
        now[0] += 0.25
        view.show(Figures())
    view.close()
    assert err.getvalue().count("\n") == int(45 * 0.25 / PLAIN_INTERVAL)
    assert "\r" not in err.getvalue()


def screen(text: str) -> list[str]:
    """The lines that a terminal shows after ``text``, which has no control characters but CR and LF."""
    lines = [""]
    column = 0
    for character in text:
        if character == "\n":
            lines.append("")
            column = 0
        elif character == "\r":
            column = 0
        else:
            line = lines[-1].ljust(column)
            lines[-1] = line[:column] + character + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


def test_a_live_line_is_renewed_in_place_and_goes_at_the_end() -> None:
    err = Terminal()
    console = Console(io.StringIO(), err)
    view = ProgressView(console)
    view.show(Figures(fps=100.0))
    view.show(Figures(fps=9.0))
    assert screen(err.getvalue()) == [progress_line(Figures(fps=9.0))]
    console.note("a warning")
    assert screen(err.getvalue()) == ["a warning", progress_line(Figures(fps=9.0))]
    view.close()
    assert screen(err.getvalue()) == ["a warning", ""]


def test_a_line_longer_than_the_terminal_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    err = Terminal()
    Console(io.StringIO(), err).status(progress_line(replace(Figures(), device="a long device name")))
    assert len(err.getvalue()) == 19


def test_until_the_first_picture_it_is_getting_ready() -> None:
    now = [0.0]
    err = Terminal()
    view = ProgressView(Console(io.StringIO(), err), lambda: now[0])
    assert screen(err.getvalue()) == ["getting ready …"]
    now[0] = COMPILE_SECONDS
    view.show(Figures(delivered=0, fps=0.0, total=100))
    assert screen(err.getvalue()) == ["getting ready … compiling for this machine, once"]
    view.show(Figures(delivered=1))
    assert screen(err.getvalue()) == [progress_line(Figures(delivered=1))]
