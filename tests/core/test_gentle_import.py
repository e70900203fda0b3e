"""Imports that leave the interpreter to others."""

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from livefusion.core.gentle_import import gentle_imports

pytestmark = pytest.mark.unit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package whose first module imports the second."""
    folder = tmp_path / "gentle_sample"
    folder.mkdir()
    (folder / "__init__.py").write_text("from gentle_sample import inner\n")
    (folder / "inner.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "gentle_sample"
    for name in [name for name in sys.modules if name.startswith("gentle_sample")]:
        del sys.modules[name]


def test_each_module_waits_for_its_turn(package: str) -> None:
    turns: list[bool] = []
    with gentle_imports(lambda: turns.append(f"{package}.inner" in sys.modules)):
        module = importlib.import_module(package)
    assert module.inner.VALUE == 7
    assert turns == [False, False]


def test_other_threads_do_not_wait(package: str) -> None:
    turns: list[int] = []
    with gentle_imports(lambda: turns.append(1)):
        other = threading.Thread(target=importlib.import_module, args=(package,))
        other.start()
        other.join()
    assert package in sys.modules
    assert turns == []


def test_the_finders_are_as_before_even_after_an_error() -> None:
    before = list(sys.meta_path)
    with pytest.raises(ImportError), gentle_imports(list):
        importlib.import_module("no_such_module_anywhere")
    assert sys.meta_path == before
