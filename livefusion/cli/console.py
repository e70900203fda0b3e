"""The terminal: results on stdout; status, warnings and errors on stderr, never garbling each other."""

import shutil
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import TextIO

from livefusion.core.errors import OutputError

_NOTES_KEPT = 32


class Console:
    """Writes lines and one live status line; safe to use from several threads.

    The streams are those that ``sys`` has when the console is made, unless others are given.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._lock = threading.Lock()
        self._status = ""
        self._notes: deque[str] = deque(maxlen=_NOTES_KEPT)

    @property
    def live(self) -> bool:
        """True if stderr is a terminal, which can show a status line."""
        return self._err.isatty()

    @property
    def interactive(self) -> bool:
        """True if there is somebody to ask: stdin and stderr are a terminal."""
        return sys.stdin is not None and sys.stdin.isatty() and self.live

    def result(self, text: str) -> None:
        """Print what the command was asked for to stdout. ``OutputError`` if the disk behind it is full."""
        with self._lock:
            self._erase()
            try:
                print(text, file=self._out, flush=True)
            except BrokenPipeError:
                raise  # nobody reads any more, and nobody would read of it
            except OSError as error:
                problem = f"the result cannot be written to stdout ({error.strerror})"
                raise OutputError(problem, "free some space") from error
            self._draw()

    def note(self, text: str) -> None:
        """Print a line to stderr, above the status line."""
        with self._lock:
            self._notes.append(text)
            self._erase()
            with suppress(OSError, ValueError):  # full or closed: there is nowhere left to say it
                print(text, file=self._err, flush=True)
            self._draw()

    def said(self, text: str) -> bool:
        """Whether one of the last notes held this text, so that nothing is said twice."""
        with self._lock:
            return any(text in note for note in self._notes)

    def status(self, text: str) -> None:
        """Show ``text`` on the status line; the empty text takes the line away."""
        with self._lock:
            self._erase()
            self._status = text[: shutil.get_terminal_size().columns - 1]
            self._draw()

    def ask(self, question: str) -> str:
        """The answer of the person at the terminal, stripped; empty at end of input."""
        with self._lock:
            self._erase()
            print(question, end=" ", file=self._err, flush=True)
        return sys.stdin.readline().strip()

    def _erase(self) -> None:
        if self._status:  # blanks, not an escape sequence: old Windows consoles would print that
            with suppress(OSError, ValueError):
                self._err.write(f"\r{' ' * len(self._status)}\r")

    def _draw(self) -> None:
        if self._status:
            with suppress(OSError, ValueError):
                self._err.write(self._status)
                self._err.flush()
