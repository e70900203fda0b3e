"""Logging for people: plain lines on stderr, and no chatter of foreign libraries."""

import faulthandler
import logging
import os
import sys
import warnings
from contextlib import suppress

from livefusion.cli.console import Console

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_QUIET = {"OPENCV_LOG_LEVEL": "OFF", "OPENCV_FFMPEG_LOGLEVEL": "-8", "OPENCV_VIDEOIO_DEBUG": "0"}


class ConsoleHandler(logging.Handler):
    """Sends log records to the console, which keeps them clear of the status line."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Write ``livefusion: warning: TEXT``; never raises, for it runs on the threads of the graph.

        What is secret in an address is left out, whoever logged it.
        """
        with suppress(Exception):  # border: a log line that cannot be written must not end a stage
            # Not at the top: it takes the media libraries with it, and a command may need none of them.
            from livefusion.media.sources.uri import redact

            self._console.note(f"livefusion: {record.levelname.lower()}: {redact(self.format(record))}")


def start_logging(console: Console, verbose: int) -> None:
    """Log to the console: warnings, from ``-v`` on progress, from ``-vv`` on everything."""
    logger = logging.getLogger("livefusion")
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)
    logger.addHandler(ConsoleHandler(console))
    logger.setLevel(_LEVELS[min(verbose, 2)])
    logger.propagate = False


def fill_standard_streams() -> None:
    """Open the null device in place of a stdin, stdout or stderr that the process was started without.

    Otherwise the next file opened, perhaps the recording, gets the number that libraries print to.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115


def silence_libraries() -> None:
    """Keep what native libraries write to file descriptor 2 from the user; ours goes where it always went.

    FFmpeg, x264, OpenCV and camera drivers print to stderr from C, each with a switch of its own and some
    with none. Only for a process that is ours alone.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    warnings.simplefilter("ignore")
    try:
        ours = os.dup(2)
    except OSError:  # started without a stderr
        return
    sys.stderr.flush()
    sys.stderr = os.fdopen(ours, "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1)
    faulthandler.enable(sys.stderr)  # a crash in native code is the one thing there that must be seen
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    os.close(sink)
