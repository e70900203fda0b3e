"""Sends to a WHIP server, as OBS does: an offer is posted, the session is deleted at the end."""

import asyncio
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from livefusion.core.errors import OutputError
from livefusion.core.timing import Clock
from livefusion.media.encode.outlet import Outlet
from livefusion.media.webrtc.ice import IceServer, Reach, is_loopback, read_links
from livefusion.media.webrtc.offer import MAX_BYTES, MalformedOfferError
from livefusion.media.webrtc.viewer import Viewer

HTTP_SECONDS, CONNECT_SECONDS = 8.0, 10.0
"""How long an answer, and then the connection, may take."""
_MOVED = frozenset({307, 308})
_HOPS = 3


class _Reply(NamedTuple):
    status: int
    location: str
    body: str
    links: tuple[str, ...] = ()


class _Stay(HTTPRedirectHandler):
    """Lets us follow redirects: of a POST they are to be repeated as they were, which urllib does not."""

    def redirect_request(self, *arguments: object) -> None:
        return None


class WhipPush:
    """One session with a WHIP server. Lives on the event loop."""

    def __init__(self, url: str, token: str, outlet: Outlet, clock: Clock) -> None:
        self._url = url
        self._token = token
        self._outlet = outlet
        self._clock = clock
        self._local = is_loopback(urlsplit(url).hostname or "")
        self._viewer = Viewer(outlet, clock, Reach(local=self._local))
        self._session = ""
        self._servers: tuple[IceServer, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the connection is over."""
        return self._viewer.connection.ended

    async def open(self) -> None:
        """Connect. ``OutputError`` if the server refuses, or is not there.

        The servers that help come with the answer, when our candidates are gathered already: they are used in
        a second try where the first finds no way.
        """
        try:
            await self._try()
        except OutputError:
            if not self._servers or self._local:
                raise
            self._viewer = Viewer(self._outlet, self._clock, Reach(self._servers))
            await self._try()

    async def _try(self) -> None:
        connection = self._viewer.connection
        try:
            reply = await self._post(await self._viewer.offer())
            self._servers = read_links(reply.links)
            await connection.accept(reply.body)
            await self._until_connected()
        except MalformedOfferError as error:
            await self.close()
            raise self._failure(error.problem) from error
        except OutputError:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session; a server that cannot be told notices by itself."""
        await self._viewer.connection.close()
        session, self._session = self._session, ""
        if session:
            await asyncio.to_thread(self._ask, "DELETE", session, "")

    async def _post(self, offer: str) -> _Reply:
        url = self._url
        for _ in range(_HOPS):
            reply = await asyncio.to_thread(self._ask, "POST", url, offer)
            if reply.status not in _MOVED:
                break
            # The token goes to whom it was given for, and to nobody else.
            if _origin(urljoin(url, reply.location)) != _origin(url):
                raise self._failure("it points to another host")
            url = urljoin(url, reply.location)
        if reply.status != 201:
            said = reply.body.strip().splitlines()
            raise self._failure(f"{reply.status or ''} {said[0][:120] if said else ''}".strip())
        if reply.location and _origin(urljoin(url, reply.location)) == _origin(url):
            self._session = urljoin(url, reply.location)
        return reply

    async def _until_connected(self) -> None:
        connection = self._viewer.connection
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                while not connection.connected:
                    if connection.ended:
                        raise self._failure("the connection failed")
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise self._failure("no connection came about") from error

    def _ask(self, method: str, url: str, body: str) -> _Reply:
        headers = {"Content-Type": "application/sdp"} if body else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = Request(url, body.encode() or None, headers, method=method)
        try:
            with build_opener(_Stay).open(request, timeout=HTTP_SECONDS) as response:
                location = response.headers.get("Location", "")
                text = response.read(MAX_BYTES).decode(errors="replace")
                links = tuple(response.headers.get_all("Link") or ())
                return _Reply(response.status, location, text, links)
        except HTTPError as error:
            text = error.read(MAX_BYTES).decode(errors="replace")
            return _Reply(error.code, error.headers.get("Location", ""), text)
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)  # a URLError wraps what the system said
            return _Reply(0, "", getattr(reason, "strerror", None) or str(reason))

    def _failure(self, reason: str) -> OutputError:
        place = urlsplit(self._url).netloc
        return OutputError(f"the WHIP server {place} does not take the picture ({reason})", "check it there")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
