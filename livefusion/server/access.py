"""Who may ask the server for what."""

import hmac
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from livefusion.media.webrtc.ice import is_loopback


@dataclass(frozen=True, slots=True)
class Access:
    """``token`` is what every request but those for the page has to know; ``names`` are our own host names.

    ``origins`` are other web sites, as browsers write them, whose pages may send and watch here.
    """

    token: str
    names: frozenset[str]
    origins: frozenset[str] = frozenset()

    @staticmethod
    def make(token: str, host: str, origins: Iterable[str] = ()) -> "Access":
        """For a server that listens on ``host``."""
        known = {"localhost", host.lower().strip("[]")}
        if not is_loopback(host):
            known |= {socket.gethostname().lower(), f"{socket.gethostname().lower()}.local"}
        return Access(token, frozenset(known), frozenset(origin.rstrip("/").lower() for origin in origins))

    def knows_host(self, header: str | None) -> bool:
        """Whether a ``Host`` header names this machine.

        Any address does; a name must be ours. Otherwise a page of a foreign name that is made to point here
        (DNS rebinding) would be on the same site as we are.
        """
        name = _host_of(header)
        return name is not None and (name in self.names or _is_address(name))

    def bears_token(self, header: str | None) -> bool:
        """Whether an ``Authorization`` header has the token."""
        scheme, _, given = (header or "").partition(" ")
        # Bytes, because compare_digest refuses text beyond ASCII.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def allows_origin(self, origin: str, own: str) -> bool:
        """Whether a page from ``origin`` may ask; ``own`` is the origin that the request was sent to."""
        return origin.lower() in {own.lower(), *self.origins}


def _host_of(header: str | None) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname if header else None
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
