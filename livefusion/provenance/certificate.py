"""The certificate that recordings are signed with (C2PA): made here, so that nobody else vouches for it.

The root that signs it is thrown away: it cannot sign anything else. A verifier says that it does not know the
signer, and that the file is as it was signed. A certificate that is on a trust list has to be bought; put in
the place of ours, with its chain, it is used.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from livefusion.core.errors import ProvenanceError
from livefusion.provenance.keys import key_folder
from livefusion.provenance.private_files import write_private

CERTIFICATE_FILE = "c2pa.pem"
"""Beside the operator's key: the private key, the certificate and its chain, in PEM."""
_LIFE = timedelta(days=730)
_EARLY = timedelta(days=1)
_KEY_MARK = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class SigningCertificate:
    """A private key and the chain of its certificate, both PEM, for ES256."""

    key: str
    chain: str

    def __repr__(self) -> str:
        return "SigningCertificate()"


def load_certificate(
    operator: str, folder: Path | None = None, now: datetime | None = None
) -> SigningCertificate:
    """The certificate in ``folder``, by default beside the operator's key; made if missing or run out.

    ``operator`` is the short name of the operator's key, which the certificate bears. ``ProvenanceError`` if
    the file is damaged.
    """
    path = (folder or key_folder()) / CERTIFICATE_FILE
    moment = now or datetime.now(UTC)
    if path.exists():
        certificate = _read(path)
        if _last_day(certificate, path) > moment:
            return certificate
    certificate = make_certificate(operator, moment)
    write_private(path, (certificate.key + certificate.chain).encode())
    return certificate


def make_certificate(operator: str, now: datetime) -> SigningCertificate:
    """A new key and its certificate, under a root of its own."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name, name = _name(f"LiveFusion root {operator}"), _name(f"LiveFusion operator {operator}")
    root = (
        _begin(root_name, root_name, root_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(root_key, SHA256())
    )
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key())
    leaf = (
        _begin(name, root_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(root_key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    chain = "".join(one.public_bytes(Encoding.PEM).decode() for one in (leaf, root))
    return SigningCertificate(secret, chain)


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLY)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, text),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "LiveFusion"),
        ]
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _read(path: Path) -> SigningCertificate:
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ProvenanceError(f"cannot read {path}", "move it away to get a new one") from error
    at = text.find(_KEY_MARK)
    if at <= 0:
        raise ProvenanceError(f"{path} has no key and certificate", "move it away to get a new one")
    return SigningCertificate(text[:at], text[at:])


def _last_day(certificate: SigningCertificate, path: Path) -> datetime:
    try:
        return x509.load_pem_x509_certificates(certificate.chain.encode())[0].not_valid_after_utc
    except (ValueError, IndexError) as error:
        raise ProvenanceError(f"{path} is damaged", "move it away to get a new one") from error
