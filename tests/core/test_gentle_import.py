"""Imports that leave the interpreter to others."""

import importlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from livefusion.core.gentle_import import gentle_imports

pytestmark = pytest.mark.unit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package whose first module works for 20 ms of processor time before it imports the second."""
    folder = tmp_path / "gentle_sample"
    folder.mkdir()
    work = "import time\nend = time.thread_time() + 0.02\nwhile time.thread_time() < end:\n    pass\n"
    (folder / "__init__.py").write_text(work + "from gentle_sample import inner\n")
    (folder / "inner.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "gentle_sample"
    for name in [name for name in sys.modules if name.startswith("gentle_sample")]:
        del sys.modules[name]


def test_a_module_rests_for_twice_what_the_last_one_worked(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr(time, "sleep", rests.append)
    with gentle_imports():
        module = importlib.import_module(package)
    assert module.inner.VALUE == 7
    assert rests[-1] == pytest.approx(0.04, rel=0.5)


def test_other_threads_do_not_rest(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(time, "sleep", rests.append)
    with gentle_imports():
        other = threading.Thread(target=importlib.import_module, args=(package,))
        other.start()
        other.join()
    assert package in sys.modules
    assert rests == []


def test_the_finders_are_as_before_even_after_an_error() -> None:
    before = list(sys.meta_path)
    with pytest.raises(ImportError), gentle_imports():
        importlib.import_module("no_such_module_anywhere")
    assert sys.meta_path == before
