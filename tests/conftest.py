"""What every test finds, and leaves as it found it."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Property tests draw the same examples every time, and a busy machine does not fail them.
settings.register_profile("livefusion", derandomize=True, deadline=None)
settings.load_profile("livefusion")


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
