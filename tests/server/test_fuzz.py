"""Every parser stands 500 mutants; ``tools/fuzz.py`` tries 10,000 and other numbers."""

import json

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.errors import ProvenanceError
from livefusion.media.network.amf import decode
from livefusion.provenance.audit_record import AuditRecord
from livefusion.testing.fuzz.mutate import mutant
from livefusion.testing.fuzz.run import FuzzResult, fuzz
from livefusion.testing.fuzz.targets import TARGETS, Target

MUTANTS = 500


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_mutants_are_read_or_refused(target: Target) -> None:
    result = fuzz(target, 0, MUTANTS)
    assert result.faults == []
    assert result.mutants == MUTANTS
    assert result.held, f"memory grew by {result.grown_mib} MiB"


@pytest.mark.unit
@pytest.mark.parametrize("text", [True, False])
def test_a_number_is_always_the_same_mutant(text: bool) -> None:
    seeds = [b"one\ntwo\nthree\n" * 20, b"", b"x"]
    made = [mutant(seeds, "a", number, text=text) for number in range(300)]
    assert made == [mutant(seeds, "a", number, text=text) for number in range(300)]
    assert made != [mutant(seeds, "b", number, text=text) for number in range(300)]
    assert len(set(made)) > 100


@pytest.mark.unit
def test_what_is_not_stood_is_told() -> None:
    result = FuzzResult("t")
    for number, (outcome, cpu_ms) in enumerate(
        [("read", 5), ("refused", 1500), ("KeyError", 1), ("refused", 2)]
    ):
        result.take(number, outcome, cpu_ms)
    assert [(fault.number, fault.what) for fault in result.faults] == [(1, "1500 ms"), (2, "KeyError")]
    assert (result.read, result.refused, result.slowest_ms, result.held) == (1, 2, 1500, False)
    assert not FuzzResult("t", grown_mib=201).held
    assert FuzzResult("t", grown_mib=200).held


@pytest.mark.unit
@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_what_cannot_be_written_again_is_no_line_of_an_audit_log(number: str) -> None:
    fields = {"at": "", "run": "", "event": "", "prev": "", "key": "", "sig": "00"}
    line = json.dumps({"n": 1, **fields, "data": {"a": 0}}).replace('"a": 0', f'"a": {number}')
    with pytest.raises(ProvenanceError):
        AuditRecord.parse(line.encode())


@pytest.mark.unit
def test_objects_in_objects_without_end_are_no_amf() -> None:
    assert decode(b"\x03\x00\x01a" * 5000) == []


@pytest.mark.chaos
def test_a_crash_is_the_mutants_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is ended by a signal at one mutant, as by a fault in native code."""
    script = (
        "import os, sys\n"
        "first, last = int(sys.argv[-2]), int(sys.argv[-1])\n"
        "for number in range(first, last):\n"
        "    if number == 3: os.kill(os.getpid(), 11)\n"
        "    print(number, 'read', 1, flush=True)\n"
        "print('peak', 1)\n"
    )
    import subprocess

    popen = subprocess.Popen
    monkeypatch.setattr(
        "livefusion.testing.fuzz.run.subprocess.Popen",
        lambda command, **options: popen([command[0], "-c", script, *command[3:]], **options),
    )
    result = fuzz(TARGETS[0], 0, 6)
    assert [(fault.number, fault.what) for fault in result.faults] == [(3, "the process ended with -11")]
    assert (result.mutants, result.read, result.grown_mib) == (6, 5, 1)
