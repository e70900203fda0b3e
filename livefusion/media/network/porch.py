"""Where publishers of RTMP come in: our own socket before FFmpeg's, which takes one connection only."""

import errno
import select
import socket
import threading
from contextlib import suppress

from livefusion.core.errors import DriverError, InputError
from livefusion.media.network.address import StreamAddress

_CHUNK = 1 << 16
_TRIES, _PAUSE = 100, 0.02
_WORDLESS_SECONDS = 5.0


class Porch:
    """Keeps the port open all the time and lets publishers in one by one; others wait in its queue.

    FFmpeg itself would open its port for each connection anew, would wait for one without an end, and be
    blocked by whoever connects and says nothing.
    """

    def __init__(self, address: StreamAddress) -> None:
        self._address = address
        self._door = _listen(address)
        self._visitor: socket.socket | None = None
        self._lock = threading.Lock()
        self._closed = False

    def admit(self) -> str | None:
        """Wait for a publisher; the URL at which FFmpeg has to listen for it now. None once closed."""
        self.dismiss()
        visitor = self._next_visitor()
        if visitor is None:
            return None
        with self._lock:
            if self._closed:
                visitor.close()
                return None
            self._visitor = visitor
        port = _free_port()
        threading.Thread(target=_relay, args=(visitor, port), name="porch", daemon=True).start()
        return self._address.url.replace(f"//{_netloc(self._address.url)}", f"//127.0.0.1:{port}", 1)

    def _next_visitor(self) -> socket.socket | None:
        """The next one who says something: programs look whether anybody answers, and go."""
        while True:
            try:
                visitor, _ = self._door.accept()
            except OSError:
                return None
            visitor.settimeout(_WORDLESS_SECONDS)
            with suppress(OSError):
                if visitor.recv(1, socket.MSG_PEEK):
                    visitor.settimeout(None)
                    visitor.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    return visitor
            visitor.close()

    def dismiss(self) -> None:
        """Let the publisher go."""
        with self._lock:
            visitor, self._visitor = self._visitor, None
        _hang_up(visitor)

    def close(self) -> None:
        """Let nobody in any more, and have ``admit`` return."""
        with self._lock:
            self._closed = True
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)  # wakes accept; close alone does not
        self._door.close()
        self.dismiss()


def _listen(address: StreamAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((address.host, address.port))
        door.listen(4)
    except OSError as error:
        door.close()
        raise _translate(address, error) from error
    return door


def _translate(address: StreamAddress, error: OSError) -> InputError | DriverError:
    if error.errno == errno.EADDRINUSE:
        return DriverError(f"port {address.port} is taken by another program", "choose another one")
    if error.errno == errno.EACCES:
        return DriverError(f"port {address.port} may not be used", "choose one above 1023")
    return InputError(
        f"{address.host} is no address of this machine", "listen on 127.0.0.1, or on 0.0.0.0 for the network"
    )


def _netloc(url: str) -> str:
    return url.split("/", 3)[2]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _relay(visitor: socket.socket, port: int) -> None:
    """Pass bytes between a publisher and FFmpeg until one of them hangs up."""
    inside = _reach(port)
    try:
        while inside is not None:
            for ready in select.select([visitor, inside], [], [])[0]:
                data = ready.recv(_CHUNK)
                if not data:
                    return
                (inside if ready is visitor else visitor).sendall(data)
    except (OSError, ValueError):  # the other end is gone, or was closed meanwhile
        return
    finally:
        _hang_up(inside)
        _hang_up(visitor)


def _reach(port: int) -> socket.socket | None:
    """A connection to FFmpeg, which may take a moment to listen."""
    pause = threading.Event()
    for _ in range(_TRIES):
        try:
            inside = socket.create_connection(("127.0.0.1", port))
        except OSError:
            pause.wait(timeout=_PAUSE)
            continue
        inside.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return inside
    return None


def _hang_up(one: socket.socket | None) -> None:
    if one is not None:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
