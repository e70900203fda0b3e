"""Whose word is taken for the name of a server of TLS."""

import os
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from livefusion.core.errors import RequestError
from livefusion.media.network.address import StreamAddress

TLS_SCHEMES: Final = frozenset({"rtmps", "rtsps"})
_SECONDS = 5.0
T = TypeVar("T")


def trusting(locator: T, authorities: Path | None) -> T:
    """What a server is known by, if the locator is a stream's address and a file is named; else as it is."""
    if isinstance(locator, StreamAddress) and authorities is not None:
        return replace(locator, authorities=authorities)
    return locator


def tls_context(address: StreamAddress) -> ssl.SSLContext:
    """Checks certificate and name of a server. ``OSError`` if the file of authorities is none."""
    context = ssl.create_default_context(cafile=address.authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def ffmpeg_options(address: StreamAddress) -> dict[str, str]:
    """The same for FFmpeg, which checks nothing unless it is told to."""
    if address.scheme not in TLS_SCHEMES:
        return {}
    known = address.authorities or os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    return {"tls_verify": "1", **({"ca_file": str(known)} if known else {})}


def distrust(address: StreamAddress, error: Exception, kind: type[RequestError]) -> RequestError | None:
    """An error of ours if a certificate is not trusted, or the file of authorities is none; else None."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.strip(" .").lower() or "it is not trusted"
        return kind(
            f"the certificate of {address.scheme}://{address.place} is refused ({reason})",
            "check the host's name, or name the file of its authority with --stream-ca",
        )
    if address.authorities is not None and isinstance(error, FileNotFoundError | ssl.SSLError):
        if isinstance(error, ssl.SSLError) and error.reason not in {None, "NO_CERTIFICATE_OR_CRL_FOUND"}:
            return None
        return kind(f"{address.authorities.name} holds no certificates", "name a PEM file with --stream-ca")
    return None


def ask_why(address: StreamAddress, kind: type[RequestError]) -> RequestError | None:
    """Why FFmpeg may have refused a server of TLS, which it does not tell: we shake hands with it again."""
    if address.scheme not in TLS_SCHEMES:
        return None
    try:
        with socket.create_connection((address.host, address.port), _SECONDS) as plain:
            tls_context(address).wrap_socket(plain, server_hostname=address.host).close()
    except OSError as error:
        return distrust(address, error, kind)
    return None
