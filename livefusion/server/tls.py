"""HTTPS: with a certificate that is named, or one of our own."""

import datetime
import ipaddress
import logging
import socket
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from livefusion.core.errors import IdentityError, SettingsError
from livefusion.core.home import user_home
from livefusion.provenance.private_files import is_private, write_private

_log = logging.getLogger(__name__)

_DAYS, _RENEW_DAYS = 397, 30
"""Browsers take no certificate of a longer life."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """What TLS needs; ``fingerprint`` (SHA-256) tells our own certificate, and is empty for a named one."""

    context: ssl.SSLContext
    fingerprint: str = ""


def named_certificate(certificate: Path, key: Path | None) -> Encryption:
    """The certificate, with its chain, in a PEM file. ``SettingsError`` if it is none, or the key not its."""
    context = _context()
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except FileNotFoundError as error:
        raise SettingsError(f"there is no file {error.filename or certificate}", "check the path") from error
    except (OSError, ValueError) as error:  # ssl's own errors are of the first kind
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or "it is no PEM file"
        raise SettingsError(
            f"{certificate} is no certificate with its key ({str(reason).lower().replace('_', ' ')})",
            "name a PEM file, and its key, without a password, with --certificate-key",
        ) from error
    return Encryption(context)


def own_certificate(host: str, now: datetime.datetime | None = None) -> Encryption:
    """A certificate that we sign ourselves, kept in an owner-only file until it grows old.

    It keeps listeners out; who it is that answers, a browser asks the user. ``now`` is in UTC.
    """
    now = now or datetime.datetime.now(datetime.UTC)
    file = user_home() / "door-certificate.pem"
    names = _names(host)
    pem = _kept(file, names, now)
    if pem is None:
        pem = _make(names, now)
        try:
            write_private(file, pem)
        except IdentityError as error:
            _log.warning("the certificate cannot be kept (%s): browsers will ask again", error)
    certificate = x509.load_pem_x509_certificate(pem)
    context = _context()
    # ssl reads files only; this one is its owner's alone, and gone at once.
    with tempfile.TemporaryDirectory(prefix="livefusion-tls-") as folder:
        part = Path(folder, "certificate.pem")
        part.touch(mode=0o600)
        part.write_bytes(pem)
        context.load_cert_chain(part)
    return Encryption(context, certificate.fingerprint(hashes.SHA256()).hex(":").upper())


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _kept(file: Path, names: list[x509.GeneralName], now: datetime.datetime) -> bytes | None:
    """The certificate of the last time, unless it is old, lacks a name, or others could read its key."""
    try:
        if not file.is_file() or not is_private(file):
            return None
        pem = file.read_bytes()
        certificate = x509.load_pem_x509_certificate(pem)
        serialization.load_pem_private_key(pem, None)
        known = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return None
    fresh = certificate.not_valid_after_utc - now > datetime.timedelta(days=_RENEW_DAYS)
    return pem if fresh and set(names) <= set(known) else None


def _make(names: list[x509.GeneralName], now: datetime.datetime) -> bytes:
    """Key and certificate as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "LiveFusion on this machine")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _names(host: str) -> list[x509.GeneralName]:
    """What a browser may call this machine."""
    own = socket.gethostname().lower()
    texts = {"localhost", own, f"{own}.local", host.lower().strip("[]")}
    texts |= {
        one.address.partition("%")[0]
        for ones in psutil.net_if_addrs().values()
        for one in ones
        if one.family in {socket.AF_INET, socket.AF_INET6}
    }
    names: list[x509.GeneralName] = []
    for text in sorted(texts):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            if text and text.isascii() and len(text) < 64:
                names.append(x509.DNSName(text))
    return names
