"""The entry: finds the command, runs it, and turns whatever happens into one line and an exit status.

Nothing heavy is imported here: ``livefusion --help`` answers at once.
"""

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from types import FrameType

from livefusion import __version__
from livefusion.cli.commands import COMMANDS, Command
from livefusion.cli.console import Console
from livefusion.cli.leave import leave
from livefusion.cli.logs import fill_standard_streams, silence_libraries, start_logging
from livefusion.core.errors import LiveFusionError, MachineError, SettingsError
from livefusion.core.words import did_you_mean

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended
LEADING_FLAGS = frozenset({"--debug", "-v", "-vv", "--verbose"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; ``argv`` without the program's name. Gives the exit status, raises nothing.

    Without ``argv`` the process is taken as ours: it may end here.

    0 done; 1 a fault of ours; 2 the request is wrong; 3 the machine cannot do it; 4 stopped by the safety
    policy; 130 interrupted.
    """
    if argv is not None:
        return _run(list(argv))
    words = sys.argv[1:]
    _own_process(debug="--debug" in words)
    return leave(_run(words))


def _run(words: list[str]) -> int:
    debug = "--debug" in words
    console = Console()
    try:
        return _dispatch(words, console)
    except SystemExit as end:  # argparse, after --help
        return end.code if isinstance(end.code, int) else 0
    except BaseException as error:  # the border of the process: every end becomes a line and a status
        return _end(error, console, debug)


def _dispatch(words: list[str], console: Console) -> int:
    leading = []
    while words and words[0] in LEADING_FLAGS:
        leading.append(words.pop(0))
    if not words or words[0] in {"-h", "--help", "help"}:
        console.result(_overview())
        return 0
    if words[0] == "--version":
        console.result(f"livefusion {__version__}")
        return 0
    module = _find(words[0]).load()
    arguments = module.parser().parse([*leading, *words[1:]])
    start_logging(console, getattr(arguments, "verbose", 0))
    return module.run(arguments, console)


def _find(word: str) -> Command:
    for command in COMMANDS:
        if command.name == word:
            return command
    hint = did_you_mean(word, [command.name for command in COMMANDS]) or "see `livefusion --help`"
    raise SettingsError(f"there is no command {word}", hint)


def _overview() -> str:
    width = max(len(command.name) for command in COMMANDS)
    table = "\n".join(f"  {command.name:<{width}}  {command.summary}" for command in COMMANDS)
    return (
        "usage: livefusion [-h] [--version] COMMAND …\n\n"
        "Another face in a live picture, before the next frame arrives.\n\n"
        f"commands:\n{table}\n\n"
        "`livefusion COMMAND --help` says more about each.\n\n"
        "examples:\n"
        "  livefusion demo\n"
        "  livefusion run -i camera:0 -o vcam:\n"
        "  livefusion run -i clip.mp4 -s photo.jpg --consent myself -o out.mp4"
    )


def _end(error: BaseException, console: Console, debug: bool) -> int:
    """Say in one line why the command ended; the exit status."""
    console.status("")
    match error:
        case BrokenPipeError():
            # Python flushes stdout once more at exit: let that go nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_BROKEN_PIPE
        case KeyboardInterrupt():
            console.note("livefusion: interrupted")
            return EXIT_INTERRUPTED
        case LiveFusionError():
            status, problem = error.exit_status, str(error)
        case ModuleNotFoundError() if error.name and not error.name.startswith("livefusion"):
            status = MachineError.exit_status
            problem = f"the package {error.name} is missing: start with `uv run --extra cpu livefusion …`"
        case _:
            status = LiveFusionError.exit_status
            problem = f"a fault of LiveFusion itself, {type(error).__name__} ({error}): --debug shows where"
    said = console.said(problem)
    if debug:
        console.note("".join(traceback.format_exception(error)).rstrip())
    if not said:
        console.note(f"livefusion: error: {' '.join(problem.split())}")
    return status


def _own_process(debug: bool) -> None:
    fill_standard_streams()
    if not debug:
        silence_libraries()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an old console lacks letters: better a ? than a fault
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
        hangup = getattr(signal, "SIGHUP", None)  # the terminal was closed; not on Windows
        if hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(hangup, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
