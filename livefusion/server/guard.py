"""What every request passes first, and how our errors become answers."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from livefusion.core.errors import LiveFusionError
from livefusion.core.timing import Clock
from livefusion.media.webrtc.desk import FullError
from livefusion.media.webrtc.offer import MalformedOfferError, UnsupportedOfferError
from livefusion.server.access import Access
from livefusion.server.limits import Buckets, Limits, network_of

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
    "Content-Security-Policy": "default-src 'self'; media-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(self), fullscreen=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_CLOSING = frozenset({401, 403, 408, 413, 421, 429})
"""Who was refused for what it is, not for what it asks, has to connect again for the next try."""


class Guard:
    """Refuses foreign hosts, foreign pages, who asks too much and who does not know the token.

    The page is open to all: it holds nothing, and works with the token only.
    """

    def __init__(
        self, access: Access, limits: Limits, clock: Clock, *, open_paths: Callable[[str], bool]
    ) -> None:
        self._access = access
        self._is_open = open_paths
        self._requests = Buckets(limits.requests, clock.now_ns)
        self._offers = Buckets(limits.offers, clock.now_ns)
        self._wrong = Buckets(limits.wrong_tokens, clock.now_ns)

    @property
    def middleware(self) -> Any:
        """The guard as aiohttp takes it."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await self._answer(request, handler)
            response.headers.update(_HEADERS)
            self._allow_origin(request, response)
            if response.status in _CLOSING:
                response.force_close()
            return response

        return guard

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._access.knows_host(request.headers.get("Host")):
            return refusal(421, "this name is not one of this machine's: use its address, or localhost")
        # A link to the page may stand anywhere; everything else only our own page may ask for.
        is_page = request.method in {"GET", "HEAD"} and self._is_open(request.path)
        origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
        if not self._access.allows_page(origin, None if is_page else site, own_origin(request)):
            return refusal(403, "this site may not: name it by --origins")
        if not is_page and request.method != "OPTIONS" and (answer := self._unless_known(request)):
            return answer
        if not self._requests.take(network_of(request.remote)):
            return _too_much("this is too much at once")
        return await _translated(request, handler)

    def _unless_known(self, request: web.Request) -> web.Response | None:
        """The refusal of who does not know the token, guesses it, or offers too often."""
        address = network_of(request.remote)
        if not self._wrong.has(address):
            return _too_much("there were too many wrong tokens")
        if not self._access.bears_token(request.headers.get("Authorization")):
            self._wrong.take(address)
            return refusal(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})
        if request.method == "POST" and not self._offers.take(address):
            return _too_much("these are too many offers")
        return None

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


def _too_much(text: str) -> web.Response:
    return refusal(429, f"{text}: wait a little", {"Retry-After": "5"})


def own_origin(request: web.Request) -> str:
    """The origin that a request was sent to, as browsers write it; a proxy that adds HTTPS says so."""
    scheme = request.headers.get("X-Forwarded-Proto", request.scheme)
    return f"{scheme}://{request.host}"


def refusal(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    """An answer that says in one line what is wrong."""
    return web.Response(status=status, text=f"{text}\n", headers=headers)
