"""Opens the server beside a run, and closes it."""

import asyncio
import logging
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
from livefusion.server.gate import Gates
from livefusion.server.limits import Limits
from livefusion.server.secret import token_of
from livefusion.server.tls import Encryption, named_certificate, own_certificate

_log = logging.getLogger(__name__)

_START_SECONDS, _END_SECONDS = 10.0, 5.0


class _Shy(logging.Filter):
    """aiohttp logs what it cannot read, with a traceback: there may be a token in it, and it floods."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        _log.debug("a request is refused (%s)", kind.__name__ if kind is not None else record.levelname)
        return False


_http_log = logging.getLogger(f"{__name__}.http")
_http_log.addFilter(_Shy())


@dataclass(frozen=True, slots=True)
class Door:
    """A server that listens: ``address`` without the token, ``page`` with it behind the #, never sent.

    ``fingerprint`` (SHA-256) is that of a certificate of our own, which browsers ask about; else empty.
    """

    exchange: Exchange
    address: str
    token: str
    fingerprint: str = ""

    @property
    def page(self) -> str:
        """Where a browser goes."""
        return f"{self.address}/#token={self.token}"


@dataclass(frozen=True, slots=True)
class _Plan:
    exchange: Exchange
    reach: Reach
    settings: WebSettings
    token: str
    encryption: Encryption | None
    limits: Limits


@contextmanager
def open_door(settings: WebSettings, limits: Limits | None = None) -> Iterator[Door]:
    """Serve until the end of the block: by HTTP to this machine alone, by HTTPS to the network.

    ``DriverError`` if the port is taken or the extra packages are missing; ``SettingsError`` if an ICE server
    is none, a certificate cannot be used, or a token is too weak.
    """
    reach = _reach_of(settings)
    app_parts = _import_app()
    encryption = _encryption_of(settings)
    token = token_of(settings.token, reachable=not is_loopback(settings.host))
    exchange = Exchange.make(settings.bitrate * 1000)
    thread = LoopThread()
    thread.start()
    try:
        plan = _Plan(exchange, reach, settings, token, encryption, limits or Limits())
        runner, server, port = thread.call(_listen(app_parts, plan), _START_SECONDS)
        try:
            scheme = "https" if encryption is not None else "http"
            fingerprint = encryption.fingerprint if encryption is not None else ""
            yield Door(exchange, f"{scheme}://{_shown(settings.host)}:{port}", token, fingerprint)
        finally:
            thread.call(_close(server, runner), _END_SECONDS)
    finally:
        thread.stop()


def _reach_of(settings: WebSettings) -> Reach:
    servers = tuple(map(read_server, settings.ice))
    # Who names servers that help distant peers has some, although a proxy on this machine stands before us.
    return Reach(servers, local=is_loopback(settings.host) and not servers)


def _encryption_of(settings: WebSettings) -> Encryption | None:
    """What is named, else nothing on this machine, and a certificate of our own on the network."""
    if settings.certificate is not None:
        return named_certificate(settings.certificate, settings.certificate_key)
    return None if is_loopback(settings.host) else own_certificate(settings.host)


async def _listen(app_parts: Any, plan: _Plan) -> tuple[Any, asyncio.Server, int]:
    settings, limits, encryption = plan.settings, plan.limits, plan.encryption
    web, desk_type, make_app = app_parts
    desk = desk_type(plan.exchange, reach=plan.reach)
    app = make_app(desk, Access.make(plan.token, settings.host, settings.origins), limits)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_http_log,
        shutdown_timeout=1.0,
        keepalive_timeout=limits.idle_seconds,
        lingering_time=1.0,
    )
    await runner.setup()
    try:
        server = await asyncio.get_running_loop().create_server(
            Gates(runner.server, limits),
            settings.host,
            settings.port,
            ssl=encryption.context if encryption is not None else None,
            ssl_handshake_timeout=limits.head_seconds if encryption is not None else None,
        )
    except OSError as error:
        await runner.cleanup()
        reason = error.strerror or str(error)
        raise DriverError(
            f"{settings.host}:{settings.port} cannot be listened on ({reason})", "choose another with --port"
        ) from error
    return runner, server, server.sockets[0].getsockname()[1]


async def _close(server: asyncio.Server, runner: Any) -> None:
    server.close()
    await runner.cleanup()


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
