"""What every test leaves as it found it."""

import logging
from collections.abc import Iterator

import pytest


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
