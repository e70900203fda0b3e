"""What FFmpeg's errors about a stream mean, in words."""

import socket
from collections.abc import Mapping

import av
from av.error import (
    FFmpegError,
    HTTPForbiddenError,
    HTTPNotFoundError,
    HTTPUnauthorizedError,
    InvalidDataError,
    ProtocolNotFoundError,
)

from livefusion.core.errors import RequestError
from livefusion.media.network.address import StreamAddress

_REFUSED = ("nobody answers at {place}", "start the server, or check host and port")
_DENIED = ("{place} refuses us", "check the user name and the password in the address")
_WORDS: Mapping[type[Exception], tuple[str, str]] = {
    ConnectionRefusedError: _REFUSED,
    av.error.ConnectionRefusedError: _REFUSED,
    HTTPUnauthorizedError: _DENIED,
    HTTPForbiddenError: _DENIED,
    HTTPNotFoundError: ("{place} has no such stream", "check the path, and that somebody publishes there"),
    InvalidDataError: ("what comes from {place} is no stream that is read here", "check what is sent there"),
    ProtocolNotFoundError: ("this FFmpeg cannot do {scheme}", "use another protocol"),
}


def require_host(address: StreamAddress, error: type[RequestError]) -> None:
    """Raise ``error`` if there is no host of that name: FFmpeg calls that an input/output error."""
    try:
        socket.getaddrinfo(address.host, address.port)
    except OSError as reason:
        raise error(f"there is no host {address.host}", "check its name and your network") from reason


def explain(
    address: StreamAddress, error: Exception, kind: type[RequestError], *, seconds: float | None = None
) -> RequestError:
    """An error of ours, of ``kind``, for what FFmpeg raised; ``seconds`` is how long it had waited in vain.

    Nothing of the address but host and port is in it.
    """
    place = f"{address.scheme}://{address.place}"
    told = _WORDS.get(type(error))
    if told is not None:
        return kind(told[0].format(place=place, scheme=address.scheme), told[1])
    if seconds is not None:
        return kind(f"nothing came from {place} in {seconds:.0f} seconds", "start the sender first")
    return kind(f"{place} ended the connection ({_reason(error)})", "check the path and the stream key")


def _reason(error: Exception) -> str:
    told = error.strerror if isinstance(error, OSError | FFmpegError) else None
    return " ".join(str(told or error or type(error).__name__).split()).lower()
