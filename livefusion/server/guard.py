"""What every request passes first, and how our errors become answers."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from livefusion.core.errors import LiveFusionError
from livefusion.media.webrtc.desk import FullError
from livefusion.media.webrtc.offer import MalformedOfferError, UnsupportedOfferError
from livefusion.server.access import Access

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_STATUS: dict[type[LiveFusionError], int] = {
    MalformedOfferError: 400,
    UnsupportedOfferError: 406,
    FullError: 503,
}
_EXPOSED = "Location, Link, ETag, Accept-Patch, Accept-Post"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; media-src 'self' blob:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """Refuses foreign hosts, foreign pages and who does not know the token; the page is open to all."""

    def __init__(self, access: Access, *, open_paths: Callable[[str], bool]) -> None:
        self._access = access
        self._is_open = open_paths

    @property
    def middleware(self) -> Any:
        """The guard as aiohttp takes it."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await self._answer(request, handler)
            response.headers.update(_HEADERS)
            self._allow_origin(request, response)
            return response

        return guard

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._access.knows_host(request.headers.get("Host")):
            return refusal(421, "this name is not one of this machine's: use its address, or localhost")
        origin = request.headers.get("Origin")
        if origin is not None and not self._access.allows_origin(origin, own_origin(request)):
            return refusal(403, "this site may not: name it by --origins")
        needs_token = request.method != "OPTIONS" and not self._is_open(request.path)
        if needs_token and not self._access.bears_token(request.headers.get("Authorization")):
            return refusal(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})
        return await _translated(request, handler)

    def _allow_origin(self, request: web.Request, response: web.StreamResponse) -> None:
        origin = request.headers.get("Origin")
        if origin is not None and self._access.allows_origin(origin, own_origin(request)):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = _EXPOSED
        response.headers["Vary"] = "Origin"


async def _translated(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return refusal(error.status, error.reason, _kept(error))
    except LiveFusionError as error:
        return refusal(_STATUS.get(type(error), 500), str(error))
    except Exception:  # border: no request may end the server, or be answered with a traceback
        _log.exception("a request for %s failed", request.path)
        return refusal(500, "a fault of LiveFusion itself")


def _kept(error: web.HTTPException) -> dict[str, str]:
    return {name: error.headers[name] for name in ("Allow",) if name in error.headers}


def own_origin(request: web.Request) -> str:
    """The origin that a request was sent to, as browsers write it; a proxy that adds HTTPS says so."""
    scheme = request.headers.get("X-Forwarded-Proto", request.scheme)
    return f"{scheme}://{request.host}"


def refusal(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    """An answer that says in one line what is wrong."""
    return web.Response(status=status, text=f"{text}\n", headers=headers)
