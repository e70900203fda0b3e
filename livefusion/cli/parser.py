"""An argument parser whose mistakes are errors of ours: one line, with the flag that was probably meant."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

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
        self.add_argument("-v", "--verbose", action="count", default=0, help="say more; -vv says everything")
        self.add_argument("--debug", action="store_true", help="show a traceback when something fails")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse; ``SettingsError`` for what the command does not know, with a guess at what was meant."""
        known, unknown = self.parse_known_args(arguments)
        if unknown:
            flags = [flag for action in self._actions for flag in action.option_strings]
            hint = did_you_mean(unknown[0].split("=")[0], flags) or f"see `{self.prog} --help`"
            raise SettingsError(f"{self.prog} does not know {unknown[0]}", hint)
        return known

    def error(self, message: str) -> NoReturn:
        """Turn argparse's complaint into ``SettingsError``."""
        raise SettingsError(message, f"see `{self.prog} --help`")
