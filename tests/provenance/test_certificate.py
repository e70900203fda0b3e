"""The certificate is kept, renewed in time, and for its owner alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from livefusion.core.errors import ProvenanceError
from livefusion.provenance.certificate import CERTIFICATE_FILE, load_certificate
from livefusion.provenance.private_files import is_private

pytestmark = pytest.mark.unit

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_it_is_made_once_and_names_the_operator(tmp_path: Path) -> None:
    first = load_certificate("1a2b", tmp_path, NOW)
    assert load_certificate("1a2b", tmp_path, NOW) == first
    assert is_private(tmp_path / CERTIFICATE_FILE)
    leaf, root = x509.load_pem_x509_certificates(first.chain.encode())
    assert "1a2b" in leaf.subject.rfc4514_string()
    assert leaf.issuer == root.subject
    leaf.verify_directly_issued_by(root)
    assert isinstance(leaf.public_key(), EllipticCurvePublicKey)
    assert "BEGIN PRIVATE KEY" in first.key
    assert first.key not in repr(first)


def test_one_that_ran_out_is_renewed(tmp_path: Path) -> None:
    first = load_certificate("1a2b", tmp_path, NOW)
    assert load_certificate("1a2b", tmp_path, NOW + timedelta(days=800)) != first


@pytest.mark.parametrize("content", ["", "nothing", "x-----BEGIN CERTIFICATE-----\nnonsense\n"])
def test_a_damaged_one_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / CERTIFICATE_FILE).write_text(content)
    with pytest.raises(ProvenanceError, match=r"move it away|damaged"):
        load_certificate("1a2b", tmp_path, NOW)
