"""Opens the server beside a run, and closes it."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from livefusion.core.errors import DriverError
from livefusion.core.settings import WebSettings
from livefusion.media.webrtc.exchange import Exchange
from livefusion.media.webrtc.ice import Reach, is_loopback, read_server
from livefusion.media.webrtc.loop import LoopThread
from livefusion.server.access import Access

_log = logging.getLogger(__name__)

_START_SECONDS, _END_SECONDS = 10.0, 5.0


@dataclass(frozen=True, slots=True)
class Door:
    """A server that listens: ``address`` without the token, ``page`` with it behind the #, never sent."""

    exchange: Exchange
    address: str
    token: str

    @property
    def page(self) -> str:
        """Where a browser goes."""
        return f"{self.address}/#token={self.token}"


@contextmanager
def open_door(settings: WebSettings) -> Iterator[Door]:
    """Serve until the end of the block.

    ``DriverError`` if the port is taken or the extra packages are missing; ``SettingsError`` if an ICE server
    is none.
    """
    reach = _reach_of(settings)
    app_parts = _import_app()
    exchange = Exchange.make(settings.bitrate * 1000)
    token = settings.token or secrets.token_urlsafe(12)
    thread = LoopThread()
    thread.start()
    try:
        runner, port = thread.call(_listen(app_parts, exchange, reach, settings, token), _START_SECONDS)
        try:
            if not is_loopback(settings.host):
                _log.warning("the network can reach %s:%d, and only the token guards it", settings.host, port)
            yield Door(exchange, f"http://{_shown(settings.host)}:{port}", token)
        finally:
            thread.call(runner.cleanup(), _END_SECONDS)
    finally:
        thread.stop()


def _reach_of(settings: WebSettings) -> Reach:
    servers = tuple(map(read_server, settings.ice))
    # Who names servers that help distant peers has some, although a proxy on this machine stands before us.
    return Reach(servers, local=is_loopback(settings.host) and not servers)


async def _listen(
    app_parts: Any, exchange: Exchange, reach: Reach, settings: WebSettings, token: str
) -> tuple[Any, int]:
    web, desk_type, make_app = app_parts
    desk = desk_type(exchange, reach=reach)
    access = Access.make(token, settings.host, settings.origins)
    runner = web.AppRunner(make_app(desk, access), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, settings.host, settings.port)
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        reason = error.strerror or str(error)
        raise DriverError(
            f"{settings.host}:{settings.port} cannot be listened on ({reason})", "choose another with --port"
        ) from error
    return runner, runner.addresses[0][1]


def _import_app() -> Any:
    try:
        from aiohttp import web

        from livefusion.media.webrtc.desk import Desk
        from livefusion.server.app import make_app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("livefusion"):
            raise
        raise DriverError(
            f"webrtc: needs the package {error.name}",
            "start with `uv run --extra cpu --extra webrtc livefusion …`, which installs it",
        ) from error
    return web, Desk, make_app


def _shown(host: str) -> str:
    """The address that a browser on this machine takes."""
    if host in {"0.0.0.0", "::", ""}:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
