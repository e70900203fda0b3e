"""TLS before a server that has none, as nginx's stream module puts it: with a certificate of our own."""

import datetime
import ipaddress
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificate(folder: Path, *names: str) -> Path:
    """A certificate that signs itself, with its key, for those names or addresses; a PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_name(one) for one in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / f"{names[0]}.pem"
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@contextmanager
def tls_proxy(certificate: Path, port: int) -> Iterator[int]:
    """A free port at which TLS is spoken for the server at ``port`` of this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=_serve, args=(door, context, port), daemon=True).start()
        yield int(door.getsockname()[1])
        with suppress(OSError):
            door.shutdown(socket.SHUT_RDWR)


def _serve(door: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError):  # the door is shut
        while True:
            visitor, _ = door.accept()
            threading.Thread(target=_carry, args=(visitor, context, port), daemon=True).start()


def _carry(plain: socket.socket, context: ssl.SSLContext, port: int) -> None:
    """Pass bytes on until one side hangs up."""
    with suppress(OSError), plain:  # a client that does not trust us hangs up, too
        plain.settimeout(10)
        with (
            context.wrap_socket(plain, server_side=True) as visitor,
            socket.create_connection(("127.0.0.1", port)) as server,
        ):
            while True:
                waits = [] if visitor.pending() else select.select([visitor, server], [], [])[0]
                ready = visitor if visitor.pending() or visitor in waits else server
                data = ready.recv(1 << 16)
                if not data:
                    return
                (server if ready is visitor else visitor).sendall(data)


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
