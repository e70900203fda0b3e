"""Consent records: what they hold, how they are kept, when they end."""

import hashlib
import json
import os
import stat
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.errors import IdentityError
from livefusion.provenance.consent import ConsentRecord, Scope, consent_from_text, consent_of_oneself
from livefusion.provenance.keys import OperatorKey
from livefusion.provenance.private_files import write_private

pytestmark = pytest.mark.unit

KEY = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))

NOON = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
LINES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "é 照片.jpg"
    path.write_bytes(b"pixels")
    return path


def test_a_record_holds_the_hash_of_every_photo_and_the_utc_time(photo: Path) -> None:
    local = NOON.astimezone(timezone(timedelta(hours=9)))
    record = ConsentRecord.record("ana", " Ana Lima ", "my talk", [photo, photo], now=local)
    assert record.given_by == "Ana Lima"
    assert record.evidence == (hashlib.sha256(b"pixels").hexdigest(),) * 2
    assert record.recorded_at == NOON
    assert record.as_report()["recorded_at"] == "2027-03-01T12:00:00Z"


@pytest.mark.parametrize(
    ("by", "purposes", "text"),
    [
        ("", "talk", "no valid given_by"),
        ("  ", "talk", "no valid given_by"),
        ("ana", "", "no valid purposes"),
        ("ana\nbob", "talk", "no valid given_by"),
        ("a" * 501, "talk", "no valid given_by"),
    ],
)
def test_a_consent_needs_somebody_and_a_purpose(by: str, purposes: str, text: str) -> None:
    with pytest.raises(IdentityError, match=text):
        ConsentRecord.record("ana", by, purposes, [])


def test_a_photo_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(IdentityError, match=r"cannot read .*none\.jpg"):
        ConsentRecord.record("ana", "ana", "talk", [tmp_path / "none.jpg"])


@pytest.mark.parametrize(
    ("today", "holds"), [(date(2027, 3, 1), True), (date(2027, 3, 9), True), (date(2027, 3, 10), False)]
)
def test_the_last_day_counts(today: date, holds: bool) -> None:
    record = ConsentRecord.record("ana", "ana", "talk", [], until=date(2027, 3, 9), now=NOON)
    if holds:
        record.require_valid(today)
    else:
        with pytest.raises(IdentityError, match="ran out on 2027-03-09"):
            record.require_valid(today)


def test_a_consent_that_has_run_out_is_not_recorded() -> None:
    with pytest.raises(IdentityError, match="ran out"):
        ConsentRecord.record("ana", "ana", "talk", [], until=date(2027, 2, 28), now=NOON)


@given(LINES, LINES)
def test_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, by: str, purposes: str) -> None:
    path = tmp_path_factory.mktemp("store") / "consent.json"
    record = ConsentRecord.record("ana", by[:500], purposes[:500], [], until=date(2030, 1, 1), now=NOON)
    record.save(path, KEY)
    assert ConsentRecord.load(path, KEY.public) == record


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "identities" / "ana" / "consent.json"
    ConsentRecord.record("ana", "ana", "talk", []).save(path, KEY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "consent.json"
    write_private(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IdentityError, match="No space left"):
        write_private(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["consent.json"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"subject": "ana"}', b'{"subject": 1, "extra": 2}', b"null"],
)
def test_a_damaged_record_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "consent.json"
    path.write_bytes(content)
    with pytest.raises(IdentityError, match="is damaged"):
        ConsentRecord.load(path, KEY.public)


def signed(tmp_path: Path) -> dict[str, Any]:
    ConsentRecord.record("ana", "Ana", "talk", [], until=date(2027, 3, 9), now=NOON).save(
        tmp_path / "consent.json", KEY
    )
    return json.loads((tmp_path / "consent.json").read_text(encoding="utf-8"))


FIELDS = (
    "subject",
    "given_by",
    "purposes",
    "until",
    "recorded_at",
    "evidence",
    "scope",
    "face",
    "revoked_at",
)


@pytest.mark.parametrize("field", FIELDS)
def test_what_is_changed_after_signing_is_refused(tmp_path: Path, field: str) -> None:
    document = signed(tmp_path)
    other = {
        "until": "2199-01-01",
        "recorded_at": "2027-03-02T12:00:00Z",
        "evidence": ["0" * 64],
        "scope": ["live"],
        "face": "0" * 64,
        "revoked_at": "2027-03-02T12:00:00Z",
    }
    document["record"][field] = other.get(field, "somebody else")
    (tmp_path / "consent.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(IdentityError, match="changed after it was signed"):
        ConsentRecord.load(tmp_path / "consent.json", KEY.public)


def test_a_record_of_another_operator_is_refused(tmp_path: Path) -> None:
    signed(tmp_path)
    with pytest.raises(IdentityError, match="another key"):
        ConsentRecord.load(tmp_path / "consent.json", OTHER.public)


@pytest.mark.parametrize("part", ["record", "key", "signature"])
def test_a_record_without_its_signature_is_refused(tmp_path: Path, part: str) -> None:
    document = signed(tmp_path)
    del document[part]
    (tmp_path / "consent.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(IdentityError, match="damaged or not signed"):
        ConsentRecord.load(tmp_path / "consent.json", KEY.public)


def test_a_record_with_a_time_of_no_zone_is_refused(tmp_path: Path) -> None:
    document = signed(tmp_path)
    document["record"]["recorded_at"] = "2027-03-01T12:00:00"
    (tmp_path / "consent.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(IdentityError, match="is damaged"):
        ConsentRecord.load(tmp_path / "consent.json", KEY.public)


def test_a_consent_reaches_as_far_as_was_agreed() -> None:
    record = ConsentRecord.record("ana", "Ana", "talk", [], scope=[Scope.LIVE])
    record.require_scope(Scope.LIVE)
    with pytest.raises(IdentityError, match="is for live, not for recording"):
        record.require_scope(Scope.RECORDING)


def test_the_end_is_the_midnight_after_the_last_day() -> None:
    record = ConsentRecord.record("ana", "Ana", "talk", [], until=date(2027, 3, 9), now=NOON)
    assert record.ends_at is not None
    assert record.ends_at.replace(tzinfo=None) == datetime(2027, 3, 10)
    assert ConsentRecord.record("ana", "Ana", "talk", []).ends_at is None
    assert ConsentRecord.record("ana", "Ana", "talk", [], until=date.max).ends_at is None


def test_ones_own_face_needs_one_word(photo: Path) -> None:
    record = consent_of_oneself("me", [photo])
    assert (record.given_by, record.subject, len(record.evidence)) == ("myself", "me", 1)


@pytest.mark.parametrize(
    ("text", "by", "purposes"),
    [
        ("myself", "myself", "this run"),
        ("Ana Lima, for my talk in May", "Ana Lima", "for my talk in May"),
        (" Ana , ", "Ana", "this run"),
    ],
)
def test_consent_from_a_flag(text: str, by: str, purposes: str, photo: Path) -> None:
    record = consent_from_text(text, [photo])
    assert (record.given_by, record.purposes, len(record.evidence)) == (by, purposes, 1)


@pytest.mark.parametrize("text", ["", " ", ", for my talk"])
def test_a_flag_that_names_nobody(text: str) -> None:
    with pytest.raises(IdentityError, match="given_by"):
        consent_from_text(text, [])
