"""The web application: page, WHIP, WHEP, and figures of who is there."""

from pathlib import Path

from aiohttp import web

from livefusion.media.webrtc.desk import Desk
from livefusion.media.webrtc.ice import IceServer
from livefusion.media.webrtc.offer import MAX_BYTES
from livefusion.server.access import Access
from livefusion.server.guard import Guard, Handler
from livefusion.server.limits import Limits
from livefusion.server.whip import Endpoint

PAGE = Path(__file__).parent / "page"
WHIP, WHEP = "/whip", "/whep"
"""Where programs and the page post their offers."""
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def make_app(desk: Desk, access: Access, limits: Limits) -> web.Application:
    """The application for a desk; it runs on the desk's event loop, and ends its sessions with itself."""
    files = {f"/{path.name}": path for path in PAGE.iterdir() if path.suffix in _TYPES}
    files["/"] = PAGE / "index.html"
    guard = Guard(access, limits, desk.clock, open_paths=files.__contains__)
    app = web.Application(middlewares=[guard.middleware], client_max_size=MAX_BYTES)
    Endpoint(desk, "publisher", WHIP, limits.body_seconds).add_to(app.router)
    Endpoint(desk, "viewer", WHEP, limits.body_seconds).add_to(app.router)
    for path, file in files.items():
        app.router.add_get(path, _page(file))

    async def sessions(request: web.Request) -> web.Response:
        return web.json_response({"sessions": desk.figures()})

    async def ice(request: web.Request) -> web.Response:
        return web.json_response([_as_browsers_have_it(server) for server in desk.servers])

    app.router.add_get("/api/sessions", sessions)
    app.router.add_get("/api/ice", ice)

    async def end(app: web.Application) -> None:
        await desk.close()

    app.on_shutdown.append(end)
    return app


def _as_browsers_have_it(server: IceServer) -> dict[str, str]:
    """An ``RTCIceServer``."""
    credentials = {"username": server.user, "credential": server.password} if server.user else {}
    return {"urls": server.url, **credentials}


def _page(file: Path) -> Handler:
    body, kind = file.read_text(encoding="utf-8"), _TYPES[file.suffix]

    async def serve(request: web.Request) -> web.Response:
        return web.Response(text=body, content_type=kind)

    return serve
