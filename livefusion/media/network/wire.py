"""Whether anybody answers."""

import socket
from urllib.parse import urlsplit

from livefusion.core.errors import OutputError
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.trouble import explain

CONNECT_SECONDS = 5.0
_ANSWER = b"RTSP/"


def require_answer(address: StreamAddress) -> None:
    """``OutputError`` if no server of RTSP answers at an address.

    FFmpeg itself connects with the first picture only, and PyAV holds Python's lock meanwhile: a server that
    takes the connection and says nothing stopped every thread of the process for 5.1 s, its time-out. So it
    is asked here first. One that answers this and then falls silent still stops them for as long.
    """
    question = f"OPTIONS rtsp://{_shown(address)} RTSP/1.0\r\nCSeq: 1\r\n\r\n"
    try:
        with socket.create_connection((address.host, address.port), CONNECT_SECONDS) as server:
            server.settimeout(CONNECT_SECONDS)
            server.sendall(question.encode())
            with server.makefile("rb") as reply:
                answer = reply.read(len(_ANSWER))
    except OSError as error:
        reason = ConnectionRefusedError() if isinstance(error, TimeoutError) else error
        raise explain(address, reason, OutputError) from error
    if answer != _ANSWER:
        raise explain(address, ConnectionRefusedError(), OutputError)


def _shown(address: StreamAddress) -> str:
    """Host, port and path, without what is secret."""
    split = urlsplit(address.url)
    return f"{split.netloc.rpartition('@')[2]}{split.path}"
