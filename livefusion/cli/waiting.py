"""What is told before a run that begins only when somebody sends."""

from livefusion.cli.console import Console
from livefusion.core.settings import Settings
from livefusion.media.network.address import StreamAddress
from livefusion.media.sources.uri import parse_input, redact


def tell_waiting(settings: Settings, console: Console) -> None:
    """Say that a publisher is waited for, and where, if INPUT is an address to listen on."""
    locator = parse_input(settings.input)
    if isinstance(locator, StreamAddress) and locator.listens:
        console.note(f"waiting for the publisher at {redact(settings.input)} (Ctrl-C ends it)")
