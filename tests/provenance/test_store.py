"""The folders of stored identities."""

import hashlib
import os
import shutil
import stat
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from livefusion.core.errors import IdentityError, ProvenanceError
from livefusion.core.home import user_home
from livefusion.provenance.audit import AuditLog
from livefusion.provenance.audit_record import AuditEvent
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.keys import KEY_FILE, OperatorKey
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
    with pytest.raises(IdentityError, match=r"cannot write .*: set LIVEFUSION_HOME to a folder of yours"):
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


def damaged(path: Path, how: str) -> None:
    """Put something else in the place of a file."""
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how == "a pipe":
        os.mkfifo(path)
    elif how == "a device without an end":
        path.symlink_to("/dev/zero")
    elif how == "a link to nowhere":
        path.symlink_to(path.with_name("nowhere"))
    elif how == "a link to itself":
        path.symlink_to(path)
    elif how == "too much":
        with path.open("wb") as file:
            file.truncate(1 << 40)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices have no names there")
@pytest.mark.parametrize("what", ["key", "consent", "face"])
@pytest.mark.parametrize(
    "how",
    ["a folder", "a pipe", "a device without an end", "a link to nowhere", "a link to itself", "too much"],
)
def test_what_is_no_file_of_ours_is_refused_at_once(tmp_path: Path, what: str, how: str) -> None:
    store = IdentityStore(tmp_path / "identities", tmp_path / "keys")
    record = store.keep("ana", ConsentRecord.record("ana", "Ana", "talk", []), b"face")
    where = {
        "key": tmp_path / "keys" / KEY_FILE,
        "consent": store.consent_file("ana"),
        "face": store.consent_file("ana").with_name(f"{record.face}.npz"),
    }
    damaged(where[what], how)
    with pytest.raises((IdentityError, ProvenanceError)):
        store.face("ana", store.consent("ana", date.today()))
    store.remove("ana")
    assert store.names() == ()


@pytest.mark.parametrize("name", ["𠀀" * 64, "a" * 65])
def test_a_name_fits_into_every_file_system(tmp_path: Path, name: str) -> None:
    with pytest.raises(IdentityError, match="cannot be the name"):
        IdentityStore(tmp_path).require_free(name)


@pytest.mark.parametrize("name", ["ANA", "Ana", "ａｎａ"])
def test_a_name_that_people_take_for_another_is_taken(tmp_path: Path, name: str) -> None:
    store = IdentityStore(tmp_path / "identities", tmp_path / "keys")
    store.keep("ana", ConsentRecord.record("ana", "Ana", "talk", []), b"face")
    with pytest.raises(IdentityError, match="already an identity ana"):
        store.keep(name, ConsentRecord.record("ana", "Ana", "talk", []), b"another")


def test_a_withdrawn_record_outlives_an_attempt_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = IdentityStore(tmp_path / "identities", tmp_path / "keys")
    record = ConsentRecord.record("ana", "Ana", "talk", [])
    store.keep("ana", record, b"face")
    store.revoke("ana")

    def full(*_: object) -> None:
        raise IdentityError("cannot write (No space left on device)")

    with monkeypatch.context() as patched:
        patched.setattr(ConsentRecord, "save", full)
        with pytest.raises(IdentityError, match="No space"):
            store.keep("ana", record, b"face")
    assert store.record("ana").revoked_at is not None
    assert store.revoked() == ("ana",)


def test_of_many_that_keep_one_name_at_once_one_does(tmp_path: Path) -> None:
    store = IdentityStore(tmp_path / "identities", tmp_path / "keys")
    OperatorKey.load(tmp_path / "keys")
    record, kept, refused = ConsentRecord.record("ana", "Ana", "talk", []), list[str](), list[str]()

    def keep(number: int) -> None:
        try:
            kept.append(str(store.keep("ana", record, b"%d" % number).face))
        except IdentityError as error:
            refused.append(error.problem)

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(kept) == 1
    assert refused == ["there is already an identity ana"] * 7
    assert store.face("ana", store.consent("ana", date.today()))
    assert len(list((store.root / "ana").glob("*.npz"))) == 1


def test_a_folder_that_is_linked_to_is_left_alone(tmp_path: Path) -> None:
    store = IdentityStore(tmp_path / "identities", tmp_path / "keys")
    store.keep("ana", ConsentRecord.record("ana", "Ana", "talk", []), b"face")
    elsewhere = tmp_path / "elsewhere"
    (store.root / "ana").rename(elsewhere)
    (store.root / "ana").symlink_to(elsewhere)
    store.remove("ana")
    assert store.names() == ()
    assert len(list(elsewhere.iterdir())) == 2


def test_a_clock_that_was_set_back_brings_no_consent_back(tmp_path: Path) -> None:
    store = IdentityStore(tmp_path / "identities")
    tomorrow, yesterday = (date.today() + timedelta(days=days) for days in (1, -1))
    record = ConsentRecord.record("ana", "Ana", "talk", [], until=tomorrow)
    signed = store.keep("ana", record, b"face")
    with pytest.raises(IdentityError, match="the clock says"):
        store.consent("ana", date.today() - timedelta(days=3))
    AuditLog().append(AuditEvent.ALIVE)
    earlier = datetime.now(UTC) - timedelta(days=9)
    ended = signed.model_copy(update={"until": yesterday, "recorded_at": earlier})
    ended.save(store.consent_file("ana"), OperatorKey.load())
    with pytest.raises(IdentityError, match="ran out"):
        store.consent("ana", date.today())
    with pytest.raises(IdentityError, match="audit log has a line of"):
        store.consent("ana", yesterday)
    ended.model_copy(update={"until": None}).save(store.consent_file("ana"), OperatorKey.load())
    assert store.consent("ana", yesterday).until is None
