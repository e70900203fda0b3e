"""Whether anybody answers."""

import socket

from livefusion.core.errors import OutputError
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.trouble import explain

CONNECT_SECONDS = 5.0


def require_answer(address: StreamAddress) -> None:
    """``OutputError`` if nobody answers: FFmpeg itself connects with the first picture only."""
    try:
        socket.create_connection((address.host, address.port), CONNECT_SECONDS).close()
    except TimeoutError as error:
        raise explain(address, ConnectionRefusedError(), OutputError) from error
    except OSError as error:
        raise explain(address, error, OutputError) from error
