"""How peers find a way to us: which addresses are offered, and the servers that help."""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from livefusion.core.errors import SettingsError

_SERVER = re.compile(
    r"(?P<scheme>stun|turns?):"
    r"(?:(?P<user>[^:@/?#\s]+):(?P<password>[^@/?#\s]+)@)?"
    r"(?P<host>[\w.-]+)(?::(?P<port>\d{1,5}))?"
    r"(?:\?transport=(?P<transport>udp|tcp))?"
)
_LINK = re.compile(r'<(?P<url>(?:stun|turns?):[^<>"\s]+)>(?P<rest>[^<]*)')
_PARAMETER = re.compile(r';\s*(?P<name>[\w-]+)="(?P<value>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class IceServer:
    """A STUN or TURN server; ``url`` as RFC 7064 and 7065 write it, without the credentials."""

    url: str
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"IceServer({self.url!r})"  # its password is nobody's business

    @property
    def link(self) -> str:
        """The ``Link`` header that tells clients of WHIP and WHEP about it."""
        told = f'<{self.url}>; rel="ice-server"'
        if self.user:
            told += f'; username="{_escaped(self.user)}"; credential="{_escaped(self.password)}"'
            told += '; credential-type="password"'
        return told


@dataclass(frozen=True, slots=True)
class Reach:
    """``servers`` help peers behind routers; ``local``: only peers on this machine are to find us."""

    servers: tuple[IceServer, ...] = ()
    local: bool = False


ANYWHERE = Reach()
"""Peers on any network that this machine is in."""


def read_server(text: str) -> IceServer:
    """``stun:HOST`` or ``turn:USER:PASSWORD@HOST``, each with ``:PORT`` if need be, as settings have it.

    ``turns:`` is encrypted; ``?transport=tcp`` may follow; other characters in names are written as in URLs
    (%40). ``SettingsError`` if it is neither.
    """
    match = _SERVER.fullmatch(text)
    if match is None or (match["scheme"] == "stun") == (match["user"] is not None):
        # Not the text itself, in which there may be a password.
        raise SettingsError(
            f"{text.rpartition('@')[2]!r} is no ICE server",
            "write stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT",
        )
    return IceServer(_url(match), unquote(match["user"] or ""), unquote(match["password"] or ""))


def read_links(headers: Iterable[str]) -> tuple[IceServer, ...]:
    """The ICE servers in ``Link`` headers; what is none is passed over."""
    servers: list[IceServer] = []
    for header in headers:
        for match in _LINK.finditer(header):
            told = {one["name"].lower(): one["value"] for one in _PARAMETER.finditer(match["rest"])}
            server = _SERVER.fullmatch(match["url"])
            if told.get("rel") == "ice-server" and server is not None:
                user, password = told.get("username", ""), told.get("credential", "")
                servers.append(IceServer(_url(server), _plain(user), _plain(password)))
    return tuple(servers)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on ``host``."""
    name = host.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _url(match: re.Match[str]) -> str:
    url = f"{match['scheme']}:{match['host']}"
    if match["port"]:
        url += f":{match['port']}"
    transport = match["transport"] or ("tcp" if match["scheme"] == "turns" else None)
    if transport is not None and match["scheme"] != "stun":
        url += f"?transport={transport}"
    return url


def _escaped(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", text)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
