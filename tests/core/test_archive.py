"""Archives of arrays, read on several threads at once, whole and damaged."""

import ast
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pytest

from livefusion.core.archive import read_arrays

pytestmark = pytest.mark.unit


def archive() -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, mesh=np.arange(600, dtype=np.float32), label=np.array("Ana"))
    return content.getvalue()


def test_the_arrays_by_name() -> None:
    arrays = read_arrays(io.BytesIO(archive()))
    assert sorted(arrays) == ["label", "mesh"]
    assert arrays["mesh"].tolist() == list(range(600))
    assert str(arrays["label"]) == "Ana"


def test_only_one_thread_at_once_is_in_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, most = [0], [0]
    parse, both = ast.literal_eval, threading.Event()

    def counted(text: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        both.wait(0.02)  # leaves the others time to come in
        inside[0] -= 1
        return parse(text)

    monkeypatch.setattr(ast, "literal_eval", counted)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: read_arrays(io.BytesIO(archive())), range(4)))
    assert most == [1]


def one_array() -> bytes:
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    return content.getvalue()


def damaged() -> bytes:
    content = bytearray(archive())
    start = content.index(b"mesh.npy") + 40
    content[start : start + 60] = b"\xff" * 60
    return bytes(content)


@pytest.mark.parametrize("content", [b"", b"no archive", archive()[:200], one_array(), damaged()])
def test_what_is_no_archive_is_told_in_errors_of_files(content: bytes) -> None:
    with pytest.raises((OSError, EOFError, ValueError, BadZipFile)):
        read_arrays(io.BytesIO(content))
