"""A server of one file on the loopback, with the faults of real ones: cuts, no ranges, other content."""

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked: the path, or the whole address if it was asked as a proxy, and the range."""

    path: str
    range: str
    user_agent: str


@dataclass(slots=True)
class Behaviour:
    """How the server answers: ``cuts`` are the numbers of bytes after which it hangs up, one an answer.

    Without ``ranges`` it starts anew each time, without ``length`` it does not say how much there is;
    ``status`` is what it answers instead, ``moved`` where it sends everybody.
    """

    content: bytes
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    length: bool = True
    status: int = 200
    moved: str = ""


class FileServer:
    """Serves ``behaviour`` under every path of ``address`` and keeps the ``requests``."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="file server", daemon=True
        )

    @property
    def address(self) -> str:
        """For example ``http://127.0.0.1:41021``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            server.requests.append(Request(self.path, asked, self.headers.get("User-Agent", "")))
            _answer(self, server.behaviour, asked)

        def log_message(self, *words: Any) -> None:
            """Nothing: pytest shows what is of interest."""

    return Handler


def _answer(handler: BaseHTTPRequestHandler, behaviour: Behaviour, asked: str) -> None:
    handler.close_connection = True
    if behaviour.status >= 400:
        handler.send_error(behaviour.status)
        return
    if behaviour.moved:
        handler.send_response(302)
        handler.send_header("Location", behaviour.moved)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    size = len(behaviour.content)
    start = int(asked.removeprefix("bytes=").split("-")[0]) if asked and behaviour.ranges else 0
    if start >= size and start:
        handler.send_error(416)
        return
    handler.send_response(206 if start else 200)
    if start:
        handler.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
    if behaviour.length:
        handler.send_header("Content-Length", str(size - start))
    handler.send_header("Connection", "close")
    handler.end_headers()
    end = start + behaviour.cuts.pop(0) if behaviour.cuts else size
    with suppress(ConnectionError):  # who has enough hangs up
        handler.wfile.write(behaviour.content[start:end])
