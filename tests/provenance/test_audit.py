"""The audit log: what is written, by how many at once, and that every tampering is found."""

import json
import multiprocessing
import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livefusion.core.errors import ProvenanceError
from livefusion.provenance.audit import HEAD_FILE, AuditLog, AuditTrail
from livefusion.provenance.audit_record import GENESIS, AuditEvent, AuditRecord, clean, digest_of
from livefusion.provenance.audit_verify import AuditVerdict, verify_audit
from livefusion.provenance.keys import OperatorKey

pytestmark = pytest.mark.unit

KEY = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
LINES = 12


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit", KEY)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], bytes]:
    """The lines of a log, with their ends, and its head."""
    log = AuditLog(tmp_path_factory.mktemp("written"), KEY)
    events = list(AuditEvent)
    for number in range(LINES):
        log.append(events[number % len(events)], {"number": number, "who": "Ana Lima, für 照片"})
    return log.path.read_bytes().splitlines(keepends=True), (log.folder / HEAD_FILE).read_bytes()


def verify(log: AuditLog) -> AuditVerdict:
    return verify_audit(log.path, [KEY.public])


def test_what_is_written_is_verified_and_told(log: AuditLog) -> None:
    log.append(AuditEvent.START, {"input": "camera:0", "outputs": ["vcam:"]})
    log.append(AuditEvent.STOP, {"frames": 12})
    verdict = verify(log)
    assert verdict.intact
    assert [(one.n, one.event, one.run) for one in verdict.records] == [
        (0, "start", log.run),
        (1, "stop", log.run),
    ]
    assert verdict.records[0].prev == GENESIS
    assert verdict.records[0].data == {"input": "camera:0", "outputs": ["vcam:"]}


def test_a_second_run_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    for _ in range(3):
        AuditLog(tmp_path, KEY).append(AuditEvent.START)
    verdict = verify_audit(tmp_path / "audit.jsonl", [KEY.public])
    assert verdict.intact
    assert len({record.run for record in verdict.records}) == 3


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_only_the_owner_can_read_it(log: AuditLog) -> None:
    log.append(AuditEvent.START)
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700
    for path in log.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("rtmp://ana:secret@host/app", "rtmp://***@host/app"),
        ("srt://host:9000?passphrase=hunter2&latency=20", "srt://host:9000?passphrase=***&latency=20"),
        ("http://127.0.0.1:8090/#token=abc", "http://127.0.0.1:8090/#token=***"),
        ("a" * 600, "a" * 500 + "…"),
        (float("nan"), "nan"),
        ((1, "two", None, True), [1, "two", None, True]),
        ({"deep": {"er": "http://u:p@h"}}, {"deep": {"er": "http://***@h"}}),
    ],
)
def test_what_is_secret_or_too_long_is_left_out(value: Any, kept: Any) -> None:
    assert clean({"value": value}) == {"value": kept}


@pytest.mark.parametrize("value", [np.zeros(128, np.float32), b"jpeg", object(), np.float32(1)])
def test_pictures_and_embeddings_cannot_get_in(log: AuditLog, value: Any) -> None:
    with pytest.raises(TypeError, match="does not belong"):
        log.append(AuditEvent.START, {"value": value})
    assert not log.path.exists() or not log.path.read_bytes()


def _append_many(folder: Path) -> None:
    log = AuditLog(folder, KEY)
    for number in range(20):
        log.append(AuditEvent.POLICY, {"number": number})


def test_threads_and_processes_write_one_chain(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers: list[Any] = [context.Process(target=_append_many, args=(tmp_path,)) for _ in range(2)]
    workers += [threading.Thread(target=_append_many, args=(tmp_path,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    verdict = verify_audit(tmp_path / "audit.jsonl", [KEY.public])
    assert verdict.problems == ()
    assert len(verdict.records) == 80


def tamper(folder: Path, content: bytes, head: bytes) -> AuditVerdict:
    folder.mkdir(exist_ok=True)
    (folder / "audit.jsonl").write_bytes(content)
    (folder / HEAD_FILE).write_bytes(head)
    return verify_audit(folder / "audit.jsonl", [KEY.public])


many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(data=st.data())
def test_any_byte_that_is_changed_is_found(
    data: st.DataObject, written: tuple[list[bytes], bytes], tmp_path: Path
) -> None:
    lines, head = written
    content = bytearray(b"".join(lines))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    assert not tamper(tmp_path / "log", bytes(content), head).intact


@many
@given(data=st.data())
def test_any_line_that_is_missing_is_found(
    data: st.DataObject, written: tuple[list[bytes], bytes], tmp_path: Path
) -> None:
    lines, head = written
    gone = data.draw(st.sets(st.integers(0, LINES - 1), min_size=1))
    kept = [line for number, line in enumerate(lines) if number not in gone]
    assert not tamper(tmp_path / "log", b"".join(kept), head).intact


@many
@given(st.permutations(range(LINES)))
def test_any_other_order_is_found(
    written: tuple[list[bytes], bytes], tmp_path: Path, order: list[int]
) -> None:
    lines, head = written
    shuffled = b"".join(lines[number] for number in order)
    assert tamper(tmp_path / "log", shuffled, head).intact == (order == list(range(LINES)))


@many
@given(data=st.data())
def test_any_cut_is_found(data: st.DataObject, written: tuple[list[bytes], bytes], tmp_path: Path) -> None:
    lines, head = written
    content = b"".join(lines)
    length = data.draw(st.integers(0, len(content) - 1))
    assert not tamper(tmp_path / "log", content[:length], head).intact


@many
@given(data=st.data())
def test_any_line_that_is_put_in_or_doubled_is_found(
    data: st.DataObject, written: tuple[list[bytes], bytes], tmp_path: Path
) -> None:
    lines, head = written
    place = data.draw(st.integers(0, LINES))
    forged = data.draw(st.sampled_from([*lines, b"{}\n", b"\n", b"nothing\n"]))
    changed = [*lines[:place], forged, *lines[place:]]
    assert not tamper(tmp_path / "log", b"".join(changed), head).intact


def test_a_chain_that_is_computed_anew_by_another_is_found(
    written: tuple[list[bytes], bytes], tmp_path: Path
) -> None:
    records = [AuditRecord.parse(line.rstrip(b"\n")) for line in written[0]]
    forged, last = [], None
    for record in records[:5]:
        last = AuditRecord.make(last, record.run, AuditEvent.ALIVE, record.data, OTHER)
        forged.append(last.line + b"\n")
    verdict = tamper(tmp_path / "log", b"".join(forged), forged[-1])
    assert any("not yours" in str(problem) for problem in verdict.problems)
    named = b"".join(forged).replace(OTHER.id.encode(), KEY.id.encode())
    verdict = tamper(tmp_path / "log", named, written[1])
    assert any("changed after it was signed" in str(problem) for problem in verdict.problems)


def test_spaces_that_change_no_value_are_found(written: tuple[list[bytes], bytes], tmp_path: Path) -> None:
    lines, head = written
    last = AuditRecord.parse(lines[-1].rstrip(b"\n"))
    spaced = json.dumps(json.loads(last.line)).encode()
    assert not tamper(tmp_path / "log", b"".join(lines[:-1]) + spaced + b"\n", head).intact


@pytest.mark.parametrize("head", [b"", b"no head", b"{}\n"])
def test_a_head_that_is_gone_or_damaged_is_told(
    written: tuple[list[bytes], bytes], tmp_path: Path, head: bytes
) -> None:
    verdict = tamper(tmp_path / "log", b"".join(written[0]), head)
    assert "cannot be told" in str(verdict.problems[0])


def test_an_old_head_is_found_but_not_one_that_a_kill_left(
    written: tuple[list[bytes], bytes], tmp_path: Path
) -> None:
    lines, _ = written
    verdict = tamper(tmp_path / "log", b"".join(lines), lines[-2])
    assert verdict.intact
    assert "ended while it wrote" in str(verdict.notes[0])
    assert not tamper(tmp_path / "log", b"".join(lines), lines[-3]).intact


def test_a_log_that_is_gone_is_missed(written: tuple[list[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / HEAD_FILE).write_bytes(written[1])
    verdict = verify_audit(tmp_path / "audit.jsonl", [KEY.public])
    assert f"{LINES} lines were cut off" in str(verdict.problems[0])
    (tmp_path / HEAD_FILE).unlink()
    with pytest.raises(ProvenanceError, match="there is no audit log"):
        verify_audit(tmp_path / "audit.jsonl", [KEY.public])


def test_a_line_that_lost_its_end_is_closed_and_told(log: AuditLog) -> None:
    for _ in range(3):
        log.append(AuditEvent.POLICY)
    content = log.path.read_bytes()
    torn = content[:-20]
    log.path.write_bytes(torn)
    (log.folder / HEAD_FILE).write_bytes(content.splitlines(keepends=True)[1])
    assert "has no end" in str(verify(log).problems[0])
    AuditLog(log.folder, KEY).append(AuditEvent.START)
    verdict = verify(log)
    assert verdict.problems == ()
    assert "loss of power" in str(verdict.notes[0])
    assert [record.event for record in verdict.records][-2:] == ["torn line closed", "start"]
    assert verdict.records[-2].data["torn"] == digest_of(torn.splitlines()[-1])


def test_a_log_of_strangers_is_not_written_to(log: AuditLog) -> None:
    log.path.write_bytes(b"somebody's notes\n")
    with pytest.raises(ProvenanceError, match="no line of an audit log"):
        log.append(AuditEvent.START)
    assert log.path.read_bytes() == b"somebody's notes\n"


def test_a_trail_writes_in_order_and_all_of_it(log: AuditLog) -> None:
    trail = AuditTrail(log)
    for number in range(50):
        trail.note(AuditEvent.POLICY, number=number)
    trail.close()
    verdict = verify(log)
    assert verdict.intact
    assert [record.data["number"] for record in verdict.records] == list(range(50))


def test_a_trail_says_that_it_is_alive(log: AuditLog) -> None:
    trail = AuditTrail(log, alive_seconds=0.01)
    written = threading.Event()
    append = log.append

    def watched(event: AuditEvent, data: Any = None) -> AuditRecord:
        record = append(event, data)
        if event is AuditEvent.ALIVE:
            written.set()
        return record

    log.append = watched  # type: ignore[method-assign]
    trail.note(AuditEvent.START)
    assert written.wait(timeout=30)
    trail.close()
    assert [record.event for record in verify(log).records[:2]] == ["start", "alive"]


def test_what_cannot_be_written_is_told_once_and_counted(
    log: AuditLog, caplog: pytest.LogCaptureFixture
) -> None:
    append, full = log.append, [True, True, True]

    def refuse(event: AuditEvent, data: Any = None) -> AuditRecord:
        if full:
            full.pop()
            raise ProvenanceError("the disk is full", "free it")
        return append(event, data)

    log.append = refuse  # type: ignore[method-assign]
    trail = AuditTrail(log)
    for _ in range(4):
        trail.note(AuditEvent.PANIC)
    trail.close()
    assert caplog.text.count("missing in the audit log") == 1
    assert [record.data for record in verify(log).records] == [{"lines_lost": 3}]


def test_a_disk_that_refuses_is_an_error_of_ours(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProvenanceError, match="No space left"):
        log.append(AuditEvent.START)


@pytest.mark.parametrize("what", ["a folder in its place", "a foreign last line", "a picture"])
def test_who_needs_a_line_is_told_that_it_cannot_be_written(log: AuditLog, what: str) -> None:
    if what == "a folder in its place":
        log.path.mkdir()
    elif what == "a foreign last line":
        log.path.write_bytes(b"nothing of ours\n")
    trail = AuditTrail(log)
    trail.note(AuditEvent.IDENTITY, whose=np.zeros(3) if what == "a picture" else "Ana")
    with pytest.raises(ProvenanceError):
        trail.settle()
    trail.close()


def test_who_needs_a_line_waits_until_it_is_written(log: AuditLog) -> None:
    trail = AuditTrail(log)
    trail.note(AuditEvent.IDENTITY, whose="Ana")
    trail.settle()
    assert [record.event for record in verify(log).records] == [AuditEvent.IDENTITY]
    trail.close()


def test_a_line_longer_than_what_is_read_at_once_is_followed_by_others(log: AuditLog) -> None:
    for _ in range(2):
        log.append(AuditEvent.START, {"outputs": ["rtmp://host/app/" + "o" * 480] * 400})
    log.append(AuditEvent.STOP)
    verdict = verify(log)
    assert verdict.intact
    assert [record.n for record in verdict.records] == [0, 1, 2]


def test_a_line_that_a_full_disk_cuts_is_taken_back(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(AuditEvent.START)
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda handle, line: write(handle, line[:9]))
        with pytest.raises(ProvenanceError, match="No space"):
            log.append(AuditEvent.PANIC)
    assert verify(log).intact
    log.append(AuditEvent.STOP)
    verdict = verify(log)
    assert verdict.intact
    assert [record.event for record in verdict.records] == ["start", "stop"]
    assert not verdict.notes


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names there")
def test_a_pipe_in_the_place_of_the_log_or_its_head_holds_nothing_up(log: AuditLog) -> None:
    log.append(AuditEvent.START)
    head = log.folder / HEAD_FILE
    head.unlink()
    os.mkfifo(head)
    with pytest.raises(ProvenanceError, match="no regular file"):
        verify(log)
    log.path.unlink()
    os.mkfifo(log.path)
    with pytest.raises(ProvenanceError, match="no regular file"):
        log.append(AuditEvent.STOP)
