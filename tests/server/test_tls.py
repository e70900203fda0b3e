import datetime
import socket
import ssl
import threading
from pathlib import Path

import pytest

from livefusion.core.errors import SettingsError
from livefusion.server.tls import Encryption, named_certificate, own_certificate

pytestmark = pytest.mark.unit

NOW = datetime.datetime.now(datetime.UTC)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def shown_to(encryption: Encryption, name: str, trusted: Path) -> str | None:
    """The version of TLS that a client gets who trusts that file and calls us by that name."""
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context(cafile=str(trusted))

    def serve() -> None:
        with encryption.context.wrap_socket(ours, server_side=True) as safe:
            safe.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(theirs, server_hostname=name) as safe:
            safe.send(b"x")
            return safe.version()
    finally:
        theirs.close()
        thread.join()


def test_our_own_is_kept_and_good_for_every_name_of_this_machine(home: Path) -> None:
    made = own_certificate("192.0.2.9", NOW)
    file = home / "door-certificate.pem"
    assert file.stat().st_mode & 0o077 == 0
    for name in ("localhost", "127.0.0.1", "192.0.2.9"):
        assert shown_to(made, name, file) == "TLSv1.3"
    assert len(made.fingerprint.split(":")) == 32
    assert own_certificate("192.0.2.9", NOW).fingerprint == made.fingerprint


def test_it_is_made_anew_when_it_is_old_lacks_a_name_or_was_open(home: Path) -> None:
    first = own_certificate("192.0.2.9", NOW).fingerprint
    second = own_certificate("192.0.2.10", NOW).fingerprint
    third = own_certificate("192.0.2.10", NOW + datetime.timedelta(days=370)).fingerprint
    (home / "door-certificate.pem").chmod(0o644)
    fourth = own_certificate("192.0.2.10", NOW + datetime.timedelta(days=370)).fingerprint
    (home / "door-certificate.pem").write_text("nonsense")
    fifth = own_certificate("192.0.2.10", NOW).fingerprint
    assert len({first, second, third, fourth, fifth}) == 5


def test_a_named_one_is_used(home: Path, tmp_path: Path) -> None:
    own_certificate("localhost", NOW)
    pem = (home / "door-certificate.pem").read_text()
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    place = pem.index("-----BEGIN CERTIFICATE")
    key.write_text(pem[:place])
    certificate.write_text(pem[place:])
    named = named_certificate(certificate, key)
    assert named.fingerprint == ""
    assert shown_to(named, "localhost", certificate) == "TLSv1.3"
    with pytest.raises(SettingsError, match="no certificate with its key"):
        named_certificate(certificate, None)
    with pytest.raises(SettingsError, match="no certificate with its key"):
        named_certificate(key, certificate)


@pytest.mark.parametrize(
    "content", ["", "hello", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"]
)
def test_what_is_none_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "c.pem"
    file.write_text(content)
    with pytest.raises(SettingsError, match="no certificate"):
        named_certificate(file, None)
    with pytest.raises(SettingsError, match="there is no file"):
        named_certificate(tmp_path / "missing.pem", None)
