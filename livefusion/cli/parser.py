"""An argument parser whose mistakes are errors of ours: one line, with the flag that was probably meant."""

import argparse
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeAlias

from livefusion.core.errors import SettingsError
from livefusion.core.words import did_you_mean


class CommandParser(argparse.ArgumentParser):
    """Parser of one command; ``example`` is shown below its help."""

    def __init__(self, prog: str, description: str, example: str, usage: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_argument(
            "-v", "--verbose", action="count", default=argparse.SUPPRESS, help="say more; -vv says everything"
        )
        self.add_argument("--debug", action="store_true", help="show a traceback when something fails")

    def add_actions(self, metavar: str) -> "Actions":
        """Room for actions: ``add_parser(NAME, help=, description=, example=)`` gives each its parser."""
        return self.add_subparsers(dest="action", required=True, metavar=metavar, parser_class=CommandParser)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse; ``SettingsError`` for what the command does not know, with a guess at what was meant."""
        known, unknown = self.parse_known_args(arguments)
        if unknown:
            raise SettingsError(f"{self.prog} does not know {unknown[0]}", self._meant(unknown[0]))
        return known

    def _meant(self, word: str) -> str:
        if not word.startswith("-") and "--input" in self._flags():
            return f"if that is what to read, write -i {word}"
        return did_you_mean(word.split("=", maxsplit=1)[0], self._flags()) or f"see `{self.prog} --help`"

    def _flags(self) -> Iterator[str]:
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    yield from parser._flags()

    def error(self, message: str) -> NoReturn:
        """Turn argparse's complaint into ``SettingsError``."""
        remedy = f"see `{self.prog} --help`"
        if message.endswith("expected one argument"):
            remedy += ", and write a name that begins with - as ./-NAME"
        raise SettingsError(message, remedy)


Actions: TypeAlias = "argparse._SubParsersAction[CommandParser]"
"""Where a command's actions are added."""
