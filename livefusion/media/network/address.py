"""What the address of a stream means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from livefusion.core.errors import RequestError

INPUT_SCHEMES: Final = ("rtmp", "rtmps", "rtsp", "rtsps", "udp", "srt")
"""What streams are read from."""
OUTPUT_SCHEMES: Final = ("rtmp", "rtmps", "rtsp", "udp", "srt")
"""What streams are written to."""
_PORTS = {"rtmp": 1935, "rtmps": 443, "rtsp": 554, "rtsps": 322}


@dataclass(frozen=True, slots=True)
class StreamAddress:
    """A stream of the network; ``url`` as FFmpeg takes it, with what is secret in it.

    ``listens`` is True if we wait for a publisher there instead of calling a server. ``authorities`` is the
    file of certificates (PEM) by which a server of TLS is known, the system's if None.
    """

    scheme: str
    host: str
    port: int
    url: str = field(repr=False)
    listens: bool = False
    authorities: Path | None = None

    @property
    def place(self) -> str:
        """Host and port, which are no secret."""
        return f"{self.host}:{self.port}"


def parse_stream(text: str, error: type[RequestError]) -> StreamAddress:
    """Understand an address whose scheme is one of ours; raises ``error`` if it is not complete."""
    split = urlsplit(text)
    scheme = split.scheme.lower()
    try:
        port = split.port
    except ValueError as reason:
        raise error(f"the port in the {scheme} address is no number", _example(scheme)) from reason
    port = port or _PORTS.get(scheme)
    # urlsplit takes udp://@:1234 for an address without a host: that is any address of this machine.
    host = (split.hostname or ("0.0.0.0" if scheme in {"udp", "srt"} else "")).strip("[]")
    if not host or not port or re.search(r"\s", text):
        raise error(f"the {scheme} address is not complete", _example(scheme))
    options = dict(parse_qsl(split.query, keep_blank_values=True))
    if scheme == "rtmp" and options.pop("listen", "0") not in {"0", ""}:
        if not split.path.strip("/"):
            raise error("the address to listen on names no stream", _example("listen"))
        query = f"?{urlencode(options)}" if options else ""
        return StreamAddress(scheme, host, port, f"rtmp://{split.netloc}{split.path}{query}", listens=True)
    listens = scheme == "udp" or (scheme == "srt" and options.get("mode") == "listener")
    return StreamAddress(scheme, host, port, text, listens=listens)


def _example(scheme: str) -> str:
    return f"write it like {_EXAMPLES.get(scheme, _EXAMPLES['rtmp'])}"


_EXAMPLES: Mapping[str, str] = {
    "rtmp": "rtmp://HOST/APP/KEY",
    "rtmps": "rtmps://HOST/APP/KEY",
    "rtsp": "rtsp://HOST/PATH",
    "rtsps": "rtsps://HOST/PATH",
    "udp": "udp://HOST:PORT",
    "srt": "srt://HOST:PORT",
    "listen": "rtmp://127.0.0.1:1935/APP/KEY?listen=1",
}
