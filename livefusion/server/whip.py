"""WHIP (RFC 9725) for who sends, and WHEP for who watches: an offer is posted, and the answer comes back."""

import asyncio

from aiohttp import web

from livefusion.media.webrtc.desk import Desk, Role, Session
from livefusion.media.webrtc.offer import MAX_BYTES, MalformedOfferError
from livefusion.server.fragment import read_fragment
from livefusion.server.guard import refusal

_SDP, _FRAGMENT = "application/sdp", "application/trickle-ice-sdpfrag"
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "POST, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-Match",
    "Access-Control-Max-Age": "600",
}


class Endpoint:
    """One of the two: where offers are posted, and under it the sessions that came of them."""

    def __init__(self, desk: Desk, role: Role, path: str, body_seconds: float) -> None:
        self._desk = desk
        self._body_seconds = body_seconds
        self._role = role
        self._path = path

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes."""
        session = f"{self._path}/{{name}}"
        router.add_post(self._path, self._post)
        router.add_patch(session, self._patch)
        router.add_delete(session, self._delete)
        router.add_options(self._path, self._options)
        router.add_options(session, self._options)

    async def _post(self, request: web.Request) -> web.Response:
        if request.content_type != _SDP:
            return refusal(415, f"send {_SDP}", {"Accept-Post": _SDP})
        session = await self._desk.admit(self._role, await self._text(request))
        response = web.Response(
            status=201, text=session.answer, content_type=_SDP, headers=self._headers(session)
        )
        for link in self._links():
            response.headers.add("Link", link)
        return response

    async def _patch(self, request: web.Request) -> web.Response:
        session = self._find(request)
        if request.content_type != _FRAGMENT:
            return refusal(415, f"send {_FRAGMENT}", {"Accept-Patch": _FRAGMENT})
        match = request.headers.get("If-Match")
        if match == "*":
            return refusal(501, "ICE is not restarted here: connect anew")
        if match is not None and match != _quoted(session.tag):
            return refusal(412, "this is not the ICE session of now")
        fragment = read_fragment(await self._text(request))
        connection = session.party.connection
        for section, line in fragment.candidates:
            await connection.add_candidate(line, section)
        if fragment.ended:
            await connection.end_candidates()
        return web.Response(status=204)

    async def _delete(self, request: web.Request) -> web.Response:
        if not self._desk.knew(request.match_info["name"], self._role):
            await self._desk.dismiss(self._find(request))
        return web.Response(status=200)  # not 204: OBS takes nothing else

    async def _options(self, request: web.Request) -> web.Response:
        return web.Response(status=204, headers={**_PREFLIGHT, "Accept-Post": _SDP})

    async def _text(self, request: web.Request) -> str:
        if (request.content_length or 0) > MAX_BYTES:
            raise web.HTTPRequestEntityTooLarge(MAX_BYTES, request.content_length or 0)
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await request.read()  # aiohttp stops at the application's limit
            return str(body, "utf-8")
        except TimeoutError as error:
            raise web.HTTPRequestTimeout from error
        except UnicodeDecodeError as error:
            raise MalformedOfferError("this is no UTF-8 text") from error

    def _find(self, request: web.Request) -> Session:
        session = self._desk.find(request.match_info["name"])
        if session is None or session.role != self._role:
            raise web.HTTPNotFound
        return session

    def _headers(self, session: Session) -> dict[str, str]:
        return {
            "Location": f"{self._path}/{session.name}",
            "ETag": _quoted(session.tag),
            "Accept-Patch": _FRAGMENT,
        }

    def _links(self) -> list[str]:
        return [server.link for server in self._desk.servers]


def _quoted(tag: str) -> str:
    return f'"{tag}"'
