"""Kernels that a test compiles are kept for that test alone."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _own_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    if request.module.__name__.startswith("test_cuda"):
        monkeypatch.setattr("platformdirs.user_cache_path", lambda *_: tmp_path)
