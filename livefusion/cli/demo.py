"""``livefusion demo``: see it work, with a camera or without one."""

import argparse
import logging

from livefusion.cli.console import Console
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.parser import CommandParser
from livefusion.core.errors import DriverError
from livefusion.core.settings import Settings

_log = logging.getLogger(__name__)

PERFORMER = "performer:"
FILE = "livefusion-demo.mp4"
SECONDS = 10.0


def parser() -> CommandParser:
    """The parser of ``livefusion demo``."""
    made = CommandParser(
        "livefusion demo",
        f"Ten seconds of your camera with another face, written to {FILE}.\n"
        "Without a camera a performer made from a photo plays before it. Every flag of `run` works too.",
        "livefusion demo --duration 30 -s me.jpg --consent myself",
        usage="livefusion demo [options]",
    )
    add_settings(made)
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the graph on the camera or the performer for ten seconds."""
    settings = settings_from(arguments, {"output": (FILE,), "duration": SECONDS, "pace": "realtime"})
    chosen = not settings.input
    if chosen:
        settings = settings.model_copy(update={"input": _camera() or PERFORMER})
    try:
        _play(settings, console)
    except DriverError as error:
        if not chosen or settings.input == PERFORMER:
            raise
        _log.warning("%s", error)
        _play(settings.model_copy(update={"input": PERFORMER}), console)
    return 0


def _play(settings: Settings, console: Console) -> None:
    from livefusion.cli.execute import execute
    from livefusion.swap.persona import PersonaLibrary

    whose = settings.source or PersonaLibrary().first.label
    what = "a performer made from a photo" if settings.input == PERFORMER else settings.input
    console.note(f"putting the face of {whose} on {what} for {settings.duration:g} s")
    execute(settings, console)


def _camera() -> str:
    """The first camera as an input, or the empty text if there is none."""
    from livefusion.media.sources.capture import list_cameras

    cameras = list_cameras()
    return f"camera:{cameras[0].device}" if cameras else ""
