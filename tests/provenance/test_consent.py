"""Consent records: what they hold, how they are kept, when they end."""

import hashlib
import json
import os
import stat
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.errors import IdentityError
from livefusion.provenance.consent import ConsentRecord, consent_from_text
from livefusion.provenance.private_files import write_private

pytestmark = pytest.mark.unit

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
    record.save(path)
    assert ConsentRecord.load(path) == record


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "identities" / "ana" / "consent.json"
    ConsentRecord.record("ana", "ana", "talk", []).save(path)
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
        ConsentRecord.load(path)


def test_a_record_with_a_time_of_no_zone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "consent.json"
    ConsentRecord.record("ana", "ana", "talk", []).save(path)
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"recorded_at": "2027-03-01T12:00:00"}), encoding="utf-8")
    with pytest.raises(IdentityError, match="is damaged"):
        ConsentRecord.load(path)


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
