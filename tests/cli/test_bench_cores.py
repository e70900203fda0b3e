"""Where processor time goes while something is measured."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from livefusion.cli.bench.cores import CoreUse

pytestmark = pytest.mark.unit

# Its child burns half a second of processor time, says so, and both wait.
PARENT = """
import subprocess, sys
child = '''
import sys, time
while time.process_time() < 0.5: pass
print("burnt", flush=True)
sys.stdin.read()
'''
sys.exit(subprocess.run([sys.executable, "-c", child]).returncode)
"""


def test_a_process_is_counted_with_its_children_and_apart_from_ours() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        before = CoreUse.now(os.getpid())  # what is its own child, too
        assert process.stdout.readline() == b"burnt\n"
        use = CoreUse.now(process.pid)
        assert use.theirs >= 0.49
        assert CoreUse.now(os.getpid()).theirs >= before.theirs
        process.stdin.close()
    assert use.ours == pytest.approx(sum(psutil.Process().cpu_times()[:2]), abs=0.5)


def test_a_mean_is_never_below_nothing() -> None:
    use = CoreUse(3.0, 2.0, 1.0).since(CoreUse(1.0, 1.0, 1.5), 2.0)
    assert use == CoreUse(1.0, 0.5, 0.0)


def test_others_are_what_the_machine_has_beside() -> None:
    before = CoreUse.now(os.getpid())
    start = time.process_time()
    while time.process_time() - start < 0.2:
        pass
    after = CoreUse.now(os.getpid())
    assert after.ours - before.ours >= 0.19
    assert after.others - before.others >= -0.5  # ours is not among them twice
