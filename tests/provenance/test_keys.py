"""The operator's key."""

import logging
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from livefusion.core.errors import IdentityError, ProvenanceError
from livefusion.provenance.keys import KEY_FILE, OperatorKey, PublicKey, key_folder
from livefusion.provenance.private_files import windows_command, write_private_once

pytestmark = pytest.mark.unit

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has other rights")


def test_the_folder_is_the_variable_or_one_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path))
    assert key_folder() == tmp_path / "keys"
    monkeypatch.delenv("LIVEFUSION_HOME")
    assert "livefusion" in str(key_folder()).lower()


def test_a_key_is_made_once_and_stays(tmp_path: Path) -> None:
    first, second = OperatorKey.load(tmp_path / "keys"), OperatorKey.load(tmp_path / "keys")
    assert first.id == second.id == PublicKey.from_hex(first.public.hex).id
    assert first.watermark_key() == second.watermark_key()
    assert len(first.watermark_key()) == 32
    assert first.id != OperatorKey.load(tmp_path / "other").id


@posix
def test_only_its_owner_can_read_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    OperatorKey.load(tmp_path / "keys")
    path = tmp_path / "keys" / KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        OperatorKey.load(tmp_path / "keys")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "others could read" in caplog.text


def test_all_who_ask_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: OperatorKey.load(tmp_path).id, range(32)))
    assert len(ids) == 1
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_file_system_without_links_does_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert write_private_once(tmp_path / "file", b"one")
    assert not write_private_once(tmp_path / "file", b"two")
    assert (tmp_path / "file").read_bytes() == b"one"


def test_a_signature_holds_for_its_message_and_key_alone(tmp_path: Path) -> None:
    key, other = OperatorKey.load(tmp_path / "a"), OperatorKey.load(tmp_path / "b")
    signature = key.sign(b"message")
    assert key.public.signed(signature, b"message")
    assert not key.public.signed(signature, b"massage")
    assert not other.public.signed(signature, b"message")
    assert not key.public.signed(b"short", b"message")


def test_who_only_reads_makes_no_key(tmp_path: Path) -> None:
    assert OperatorKey.find(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    made = OperatorKey.load(tmp_path)
    found = OperatorKey.find(tmp_path)
    assert found is not None
    assert found.id == made.id


def test_a_key_does_not_show_itself(tmp_path: Path) -> None:
    key = OperatorKey.load(tmp_path)
    assert repr(key) == f"OperatorKey({key.id})"


FOREIGN = ec.generate_private_key(ec.SECP256R1()).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "damaged", id="empty"),
        pytest.param(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "damaged", id="cut"),
        pytest.param(FOREIGN, "no Ed25519 key", id="of another kind"),
    ],
)
def test_what_is_no_key_is_refused_and_kept(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / KEY_FILE).write_bytes(content)
    with pytest.raises(ProvenanceError, match=problem):
        OperatorKey.load(tmp_path)
    assert (tmp_path / KEY_FILE).read_bytes() == content


@pytest.mark.parametrize("text", ["", "zz", "00" * 31, "00" * 33])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ProvenanceError, match=r"no .*public key"):
        PublicKey.from_hex(text)


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(IdentityError, match="cannot write"):
        OperatorKey.load(tmp_path / "file" / "keys")


def test_windows_folders_are_for_the_user_alone() -> None:
    command = windows_command(Path("C:/keys"), "ana")
    assert command[0] == "icacls"
    assert "/inheritance:r" in command
    assert "ana:(OI)(CI)F" in command
