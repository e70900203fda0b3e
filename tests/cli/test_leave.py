"""Leaving a process whose other threads are still at work."""

import subprocess
import sys

import pytest

from livefusion.cli.leave import leave

pytestmark = pytest.mark.unit

SCRIPT = """
import atexit, sys, threading
from livefusion.cli.leave import leave
atexit.register(lambda: print("the interpreter is taken down"))
held = threading.Lock()
held.acquire()
if {threads}:
    threading.Thread(target=held.acquire, daemon=True).start()
sys.stdout.write("last words, not flushed\\n")
sys.exit(leave(2))
"""


@pytest.mark.parametrize(("threads", "is_taken_down"), [(0, True), (1, False)])
def test_python_is_not_taken_down_under_a_thread(threads: int, is_taken_down: bool) -> None:
    script = SCRIPT.format(threads=threads)
    end = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert end.returncode == 2
    assert "last words" in end.stdout
    assert ("taken down" in end.stdout) is is_taken_down
    assert not end.stderr


def test_a_lone_thread_leaves_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.active_count", lambda: 1)
    assert leave(3) == 3
