"""What every test leaves as it found it."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep keys, faces and the audit log of tests out of the user's own folders."""
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Take back what a command did to the product's logger.

    Its handler writes to the stderr of the test that ran the command, which is closed by then.
    """
    logger = logging.getLogger("livefusion")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate
