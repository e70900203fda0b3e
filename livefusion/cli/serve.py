"""``livefusion serve``: a page where a browser sends its camera and sees the result."""

import argparse

from livefusion.cli.console import Console
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.parser import CommandParser

WEBRTC = "webrtc:"


def parser() -> CommandParser:
    """The parser of ``livefusion serve``."""
    made = CommandParser(
        "livefusion serve",
        "A page for your browser: it sends your camera and shows it with another face. OBS and other\n"
        "programs send by WHIP and watch by WHEP. It is `run -i webrtc: -o webrtc:`, with its flags.",
        "livefusion serve -s me.jpg --consent myself -o recording.mp4",
        usage="livefusion serve [-s SOURCE] [options]",
    )
    add_settings(made)
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run the graph from and to whoever comes."""
    settings = settings_from(arguments, {"input": WEBRTC})
    if WEBRTC not in settings.output:
        settings = settings.model_copy(update={"output": (WEBRTC, *settings.output)})
    from livefusion.cli.execute import execute

    execute(settings, console)
    return 0
