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

    ``origins`` are other web sites, as browsers write them, whose pages may send and watch here. ``local``:
    only this machine is to find us.
    """

    token: str
    names: frozenset[str]
    origins: frozenset[str] = frozenset()
    local: bool = True

    @staticmethod
    def make(token: str, host: str, origins: Iterable[str] = ()) -> "Access":
        """For a server that listens on ``host``. A proxy that brings a site here has that site's name."""
        known, local = {"localhost", host.lower().strip("[]")}, is_loopback(host)
        sites = frozenset(origin.rstrip("/").lower() for origin in origins)
        known |= {name for site in sites if (name := _host_of(site.partition("//")[2]))}
        if not local:
            known |= {socket.gethostname().lower(), f"{socket.gethostname().lower()}.local"}
        return Access(token, frozenset(known), sites, local)

    def knows_host(self, header: str | None) -> bool:
        """Whether a ``Host`` header names this machine.

        A name must be ours; an address does, if it is one that we can be found by. Otherwise a page of a
        foreign name that is made to point here (DNS rebinding) would be on the same site as we are.
        """
        name = _host_of(header)
        if name is None:
            return False
        return name in self.names or (is_loopback(name) if self.local else _is_address(name))

    def bears_token(self, header: str | None) -> bool:
        """Whether an ``Authorization`` header has the token."""
        scheme, _, given = (header or "").partition(" ")
        # Bytes, because compare_digest refuses text beyond ASCII.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def allows_origin(self, origin: str, own: str) -> bool:
        """Whether a page from ``origin`` may ask; ``own`` is the origin that the request was sent to."""
        return origin.lower() in {own.lower(), *self.origins}

    def allows_page(self, origin: str | None, fetch_site: str | None, own: str) -> bool:
        """Whether a request comes from a page that may ask, or from no page at all.

        Browsers name the page in ``Origin`` whenever something is changed or a WebSocket opened, and how far
        away it is in ``Sec-Fetch-Site``; programs send neither.
        """
        if origin is not None:
            return self.allows_origin(origin, own)
        return fetch_site is None or fetch_site.lower() in {"same-origin", "none"}


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
