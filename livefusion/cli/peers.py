"""The web server beside a run that has ``webrtc:`` at one of its ends."""

from collections.abc import Iterator
from contextlib import contextmanager

from livefusion.cli.console import Console
from livefusion.core.settings import Settings
from livefusion.media.sources.uri import WebRtcLocator, parse_input, parse_output
from livefusion.media.webrtc.exchange import Exchange


@contextmanager
def peers_of(settings: Settings, console: Console) -> Iterator[Exchange | None]:
    """Where the run meets its peers, and the address told to the user; None if no end is ``webrtc:``."""
    sends = isinstance(parse_input(settings.input), WebRtcLocator)
    watches = any(isinstance(parse_output(text), WebRtcLocator) for text in settings.output)
    if not sends and not watches:
        yield None
        return
    from livefusion.server.door import open_door

    with open_door(settings.web) as door:
        console.note(f"open this page: {door.page}")
        if door.fingerprint:
            console.note(
                f"the browser will ask about its certificate; it is ours if its SHA-256 is {door.fingerprint}"
            )
        if sends:
            console.note(f"or send by WHIP to {door.address}/whip, with what follows token= as bearer token")
        if watches:
            console.note(f"or watch by WHEP at {door.address}/whep, with the same token")
        yield door.exchange
