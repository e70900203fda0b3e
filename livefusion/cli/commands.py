"""The table of commands: each is a module that is imported only when it is asked for.

A command module has ``parser() -> CommandParser`` and ``run(arguments, console) -> int``, which gives the
exit status or raises an error of our tree.
"""

import argparse
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from livefusion.cli.console import Console
from livefusion.cli.parser import CommandParser


class CommandModule(Protocol):
    """What a module behind a command offers."""

    def parser(self) -> CommandParser:
        """A parser for what follows the command's name."""
        ...

    def run(self, arguments: argparse.Namespace, console: Console) -> int:
        """Do it; the exit status."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A word on the command line, the module behind it, and what it does."""

    name: str
    module: str
    summary: str

    def load(self) -> CommandModule:
        """Import the module behind the command."""
        return cast("CommandModule", import_module(self.module))


COMMANDS = (
    Command("demo", "livefusion.cli.demo", "see it work: ten seconds from your camera, or without one"),
    Command("run", "livefusion.cli.run", "change the faces of a camera or a file"),
    Command("serve", "livefusion.cli.serve", "a page where a browser sends its camera and sees the result"),
    Command("identity", "livefusion.cli.identity", "list, add or revoke the faces to put on"),
    Command("audit", "livefusion.cli.audit", "what was done with whose face, and whether the log is intact"),
    Command("models", "livefusion.cli.models", "networks: those that ship, and those that you add or fetch"),
    Command("doctor", "livefusion.cli.doctor", "what this machine has, and what to do about what it lacks"),
    Command("bench", "livefusion.cli.bench.main", "measure what is promised, on this machine"),
    Command(
        "eval", "livefusion.cli.eval", "measure the picture of a clip: who it is, what shows, what flickers"
    ),
    Command("verify", "livefusion.cli.verify", "was this video altered by LiveFusion, and what says so"),
    Command("sign", "livefusion.cli.sign", "sign a recording that was not when it ended"),
    Command("settings", "livefusion.cli.settings", "every setting, as a reference page or a JSON schema"),
)
