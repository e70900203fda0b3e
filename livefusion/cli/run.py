"""``livefusion run``: change the faces of an input and write it to one output or several."""

import argparse

from livefusion.cli.console import Console
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.parser import CommandParser
from livefusion.core.errors import SettingsError
from livefusion.core.settings import Settings


def parser() -> CommandParser:
    """The parser of ``livefusion run``."""
    made = CommandParser(
        "livefusion run",
        "Change the faces of a camera or a file, in real time, and write it wherever you like.\n"
        "Ctrl-C ends a run; what was written until then is complete.",
        "livefusion run -i camera:0 -o vcam: -o recording.mp4\n"
        "  livefusion run -i clip.mp4 -s me.jpg --consent myself -o out.mp4 --report out.json",
        usage="livefusion run -i INPUT [-s SOURCE] -o OUTPUT [-o OUTPUT …] [options]",
    )
    add_settings(made)
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the graph that flags and configuration file describe."""
    settings = settings_from(arguments)
    require_ends(settings)
    from livefusion.cli.execute import execute

    execute(settings, console)
    return 0


def require_ends(settings: Settings) -> None:
    """``SettingsError`` if nothing is to be read or nowhere is to be written."""
    if not settings.input:
        raise SettingsError("there is nothing to read", "add -i camera:0, -i FILE or -i performer:")
    if not settings.output:
        raise SettingsError("there is nowhere to write", "add -o FILE.mp4, -o vcam: or -o null:")
