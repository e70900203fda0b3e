"""The folders of stored identities."""

import hashlib
import os
import shutil
import stat
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from livefusion.core.errors import IdentityError
from livefusion.core.home import user_home
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.store import IdentityStore

pytestmark = pytest.mark.unit

TODAY = date(2027, 3, 1)


@pytest.fixture
def store(tmp_path: Path) -> IdentityStore:
    return IdentityStore(tmp_path / "identities")


def keep(store: IdentityStore, name: str, until: date | None = None) -> None:
    record = ConsentRecord(
        subject=name, given_by="myself", purposes="talk", until=until, recorded_at="2027-01-01T00:00:00Z"
    )
    store.keep(name, record, b"face")


def test_home_is_the_variable_or_a_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path))
    assert user_home() == tmp_path
    assert IdentityStore().root == tmp_path / "identities"
    monkeypatch.delenv("LIVEFUSION_HOME")
    assert "livefusion" in str(user_home()).lower()


def test_an_identity_appears_with_its_face_and_goes_whole(store: IdentityStore) -> None:
    assert store.names() == ()
    keep(store, "zoë")
    keep(store, "ana-2")
    assert store.names() == ("ana-2", "zoë")
    assert store.consent("ana-2", TODAY).given_by == "myself"
    store.remove("ana-2")
    assert store.names() == ("zoë",)
    assert not (store.root / "ana-2").exists()


def test_a_name_is_taken_once(store: IdentityStore) -> None:
    keep(store, "ana")
    with pytest.raises(IdentityError, match="already an identity ana"):
        keep(store, "ana")


def test_what_fails_half_way_leaves_nothing(store: IdentityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    record = ConsentRecord.record("ana", "myself", "talk", [])

    def full(*_: object) -> None:
        raise IdentityError("the disk is full", "free it")

    with monkeypatch.context() as patched:
        patched.setattr(ConsentRecord, "save", full)
        with pytest.raises(IdentityError, match="full"):
            store.keep("ana", record, b"face")
    assert not (store.root / "ana").exists()
    keep(store, "ana")
    assert store.names() == ("ana",)


def test_the_face_lies_under_the_hash_of_its_content_which_the_record_names(store: IdentityStore) -> None:
    signed = store.keep("ana", ConsentRecord.record("ana", "myself", "talk", []), b"face")
    assert signed.face == hashlib.sha256(b"face").hexdigest()
    assert (store.root / "ana" / f"{signed.face}.npz").read_bytes() == b"face"
    assert store.face("ana", store.record("ana")) == b"face"


@pytest.mark.parametrize("trick", ["other content", "other name", "consent of another"])
def test_a_consent_fits_its_own_face_alone(store: IdentityStore, trick: str) -> None:
    keep(store, "ana")
    folder, digest = store.root / "ana", store.record("ana").face
    if trick == "other content":
        (folder / f"{digest}.npz").write_bytes(b"somebody else")
    elif trick == "other name":
        (folder / f"{digest}.npz").rename(folder / f"{'0' * 64}.npz")
    else:
        store.keep("bo", ConsentRecord.record("bo", "Bo", "talk", []), b"other face")
        shutil.copy(store.root / "bo" / "consent.json", folder / "consent.json")
    with pytest.raises(IdentityError, match=r"not the one that was agreed to|changed after"):
        store.face("ana", store.record("ana"))


def test_a_withdrawn_consent_takes_the_face_along_and_is_kept(store: IdentityStore) -> None:
    keep(store, "ana")
    before = store.record("ana").id
    store.revoke("ana", datetime(2027, 2, 1, tzinfo=UTC))
    assert store.names() == ()
    assert store.revoked() == ("ana",)
    assert [path.name for path in (store.root / "ana").iterdir()] == ["consent.json"]
    assert store.record("ana").id == before
    with pytest.raises(IdentityError, match="withdrawn on 2027-02-01"):
        store.consent("ana", TODAY)
    keep(store, "ana")  # who agrees again is asked again
    assert store.consent("ana", TODAY).revoked_at is None
    store.remove("ana")
    assert not (store.root / "ana").exists()


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_the_folder_is_closed_to_others(store: IdentityStore) -> None:
    keep(store, "ana")
    for folder in (store.root, store.root / "ana"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(IdentityError, match=r"cannot write .*: free the disk or set LIVEFUSION_HOME"):
        keep(IdentityStore(tmp_path / "file" / "identities"), "ana")


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "me.jpg",
        "-x",
        "_x",
        "con",
        "LPT1",
        "a" * 65,
        "a b",
        "a\n",
        "a:b",
    ],
)
def test_names_that_could_leave_the_folder_or_look_like_photos(store: IdentityStore, name: str) -> None:
    with pytest.raises(IdentityError, match="cannot be the name"):
        store.keep(name, ConsentRecord.record("ana", "myself", "talk", []), b"face")


def test_a_face_without_its_consent_is_not_used(store: IdentityStore) -> None:
    keep(store, "ana")
    (store.root / "ana" / "consent.json").unlink()
    with pytest.raises(IdentityError, match="there is no consent"):
        store.consent("ana", TODAY)


def test_a_consent_that_ran_out_stops_the_use_but_can_still_be_read(store: IdentityStore) -> None:
    keep(store, "ana", until=date(2027, 2, 28))
    with pytest.raises(IdentityError, match="ran out"):
        store.consent("ana", TODAY)
    assert store.record("ana").until == date(2027, 2, 28)


@pytest.mark.parametrize(("name", "text"), [("anna", "did you mean ana?"), ("zebra", "identity list")])
def test_an_unknown_name_gets_a_hint(store: IdentityStore, name: str, text: str) -> None:
    keep(store, "ana")
    with pytest.raises(IdentityError, match="there is no stored identity") as caught:
        store.remove(name)
    assert text in caught.value.remedy
