"""The operator's key: it signs consents and heads of the audit log, and the watermark's key comes from it.

::

    LIVEFUSION_HOME or the user's configuration folder
    └── keys
        └── operator.pem     an Ed25519 private key (PKCS #8, PEM), readable by its owner alone
"""

import hashlib
import logging
import os
from pathlib import Path
from typing import Self

import platformdirs
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from livefusion.core.errors import ProvenanceError
from livefusion.provenance.private_files import OWNER_FILE, is_private, read_private, write_private_once

KEY_FILE = "operator.pem"
KEY_ID_DIGITS = 16
WATERMARK_KEY_BYTES = 32
_WATERMARK = b"livefusion watermark 1"

_log = logging.getLogger(__name__)


def key_folder() -> Path:
    """Where the operator's key lies; ``LIVEFUSION_HOME`` overrides the system's place."""
    home = os.environ.get("LIVEFUSION_HOME")
    root = Path(home) if home else platformdirs.user_config_path("livefusion", appauthor=False)
    return root / "keys"


class PublicKey:
    """The half of an operator's key that may be shown: 32 bytes, as hexadecimal in records."""

    def __init__(self, raw: bytes) -> None:
        try:
            self._key = Ed25519PublicKey.from_public_bytes(raw)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise ProvenanceError("that is no Ed25519 public key", "it has 32 bytes") from error
        self.raw = raw

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """The key behind 64 hexadecimal digits; ``ProvenanceError`` if it is none."""
        try:
            return cls(bytes.fromhex(text))
        except ValueError as error:
            raise ProvenanceError("that is no public key", "it has 64 hexadecimal digits") from error

    @property
    def hex(self) -> str:
        """The key as hexadecimal."""
        return self.raw.hex()

    @property
    def id(self) -> str:
        """A short name: the first 16 hexadecimal digits of the sha256 of the public key."""
        return hashlib.sha256(self.raw).hexdigest()[:KEY_ID_DIGITS]

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether the owner of the key made the signature (64 bytes) for the message."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


class OperatorKey:
    """The operator's Ed25519 key. Immutable; safe to share between threads."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """The key in ``folder``, by default the user's; it is made on its first use.

        A key that others can read is closed to them, and that is said. ``ProvenanceError`` if the file is
        none of ours, ``IdentityError`` if none can be written.
        """
        path = (folder or key_folder()) / KEY_FILE
        if _is_missing(path):
            write_private_once(path, _pem(Ed25519PrivateKey.generate()))
        return cls(_read(path))

    @classmethod
    def find(cls, folder: Path | None = None) -> Self | None:
        """As ``load``, for who only reads: None where no key has been made yet."""
        return None if _is_missing((folder or key_folder()) / KEY_FILE) else cls.load(folder)

    @property
    def id(self) -> str:
        """The short name of the key, which is in every record that it signs."""
        return self.public.id

    def sign(self, message: bytes) -> bytes:
        """An Ed25519 signature, 64 bytes."""
        return self._key.sign(message)

    def watermark_key(self) -> bytes:
        """The 32 bytes from which the watermark's pattern is made: HKDF-SHA256 of the private key.

        Who knows them can find and forge the mark, and cannot sign.
        """
        kdf = HKDF(algorithm=SHA256(), length=WATERMARK_KEY_BYTES, salt=None, info=_WATERMARK)
        return kdf.derive(self._key.private_bytes_raw())

    def __repr__(self) -> str:
        return f"OperatorKey({self.id})"


def _is_missing(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # a folder that is closed to us: reading the key says so
        return False
    return False


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _read(path: Path) -> Ed25519PrivateKey:
    remedy = "put your copy of it back, or move it away to get a new one"
    try:
        if not is_private(path):
            _log.warning("others could read %s: it is closed to them now", path)
            path.chmod(OWNER_FILE)
        key = load_pem_private_key(read_private(path), password=None)
    except OSError as error:
        raise ProvenanceError(f"cannot read the key {path} ({error.strerror})", "see who owns it") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ProvenanceError(f"the key {path} is damaged", remedy) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ProvenanceError(f"the key {path} is no Ed25519 key", remedy)
    return key
