"""Files are written whole or not at all, and what stands in the way is said in words."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from livefusion.core import files
from livefusion.core.errors import OutputError
from livefusion.core.files import cannot_make, cannot_write, obstacle, write_new, write_whole

pytestmark = pytest.mark.unit

PROC = Path("/proc")
needs_proc = pytest.mark.skipif(not (PROC / "self").exists(), reason="needs /proc")
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("there.json").write_text("old")
    Path("sub").mkdir()
    Path("link.json").symlink_to("sub/far.json")
    return tmp_path


OBSTACLES = [
    ("none/x", "there is no folder none", "make it"),
    ("none/deep/x", "there is no folder none/deep", "make it"),
    ("there.json/x", "there.json is no folder", "choose another one"),
    ("sub", "it is a folder", "name a file"),
    ("x" * 300, "its name is too long", "choose a shorter one"),
    pytest.param("/proc/x.json", "nothing can be made in /proc", "another folder", marks=needs_proc),
]


@pytest.mark.parametrize(("name", "why", "remedy"), OBSTACLES)
def test_what_stands_in_the_way_is_known_before_and_when_writing(name: str, why: str, remedy: str) -> None:
    path = Path(name)
    known = obstacle(path)
    assert known is not None
    assert known.problem == f"{path} cannot be written ({why})"
    assert remedy in known.remedy
    for write in (write_whole, write_new):
        with pytest.raises(OutputError) as caught:
            write(path, b"new")
        if not (write is write_new and name == "sub"):  # it is there already
            assert str(caught.value) == str(known)


@pytest.mark.parametrize("name", ["new.json", "there.json", "sub/new.json", "link.json"])
def test_what_can_be_written_is_left_as_it_is_until_then(name: str) -> None:
    path, before = Path(name), sorted(map(str, Path().rglob("*")))
    old = path.read_bytes() if path.exists() else None
    assert obstacle(path) is None
    assert sorted(map(str, Path().rglob("*"))) == before
    assert old is None or path.read_bytes() == old
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert not list(Path().rglob("*.part"))


def test_a_link_stays_one() -> None:
    write_whole(Path("link.json"), b"new")
    assert Path("link.json").is_symlink()
    assert Path("sub/far.json").read_bytes() == b"new"


def test_new_files_have_the_rights_of_new_files() -> None:
    write_whole(Path("a"), b"1")
    Path("b").write_bytes(b"2")
    assert Path("a").stat().st_mode == Path("b").stat().st_mode


def test_a_name_with_a_nul_is_no_fault_of_ours() -> None:
    known = obstacle(Path("a\0b"))
    assert known is not None
    assert "no file can be called that" in known.problem


@pytest.mark.parametrize("write", [write_whole, write_new])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_ends_it_early_leaves_no_half_of_a_file(
    write: Callable[[Path, bytes], None], error: BaseException
) -> None:
    real, written = os.write, []

    def fail_later(handle: int, content: bytes) -> int:
        if written:
            raise error
        written.append(real(handle, bytes(content)[:3]))
        return 3

    path = Path("there.json" if write is write_whole else "fresh.json")
    with (
        mock.patch.object(files.os, "write", fail_later),
        pytest.raises(OutputError if isinstance(error, OSError) else KeyboardInterrupt) as caught,
    ):
        write(path, b"much longer")
    if isinstance(error, OSError):
        assert "the disk is full" in str(caught.value)
        assert "free some space" in str(caught.value)
    assert Path("there.json").read_text() == "old"
    assert not Path("fresh.json").exists()
    assert not list(Path().rglob("*.part"))


def test_a_new_file_never_takes_anothers_place() -> None:
    with pytest.raises(OutputError, match=r"there.json cannot be written \(it is there already\)"):
        write_new(Path("there.json"), b"new")
    assert Path("there.json").read_text() == "old"


@needs_pipes
def test_a_pipe_takes_it_as_it_comes() -> None:
    os.mkfifo("pipe")
    assert obstacle(Path("pipe")) is None
    with pytest.raises(OutputError, match="nobody reads that pipe"):
        write_whole(Path("pipe"), b"new")
    content, got = b"x" * (1 << 20), bytearray()  # more than a pipe holds
    handle = os.open("pipe", os.O_RDWR)  # so that there is a reader already, which meets no end

    def read() -> None:
        while len(got) < len(content):
            got.extend(os.read(handle, 1 << 16))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    write_whole(Path("pipe"), content)
    thread.join(timeout=20)
    os.close(handle)
    assert got == content
    assert Path("pipe").is_fifo()


@needs_proc
def test_what_is_open_under_a_name_is_written_to_and_not_replaced() -> None:
    with Path("shell.txt").open("wb") as shell:
        path = Path(f"/proc/self/fd/{shell.fileno()}")
        number = os.fstat(shell.fileno()).st_ino
        write_whole(path, b"new")
    assert Path("shell.txt").stat().st_ino == number
    assert Path("shell.txt").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EACCES, "it may not be changed"),
        (errno.EROFS, "its disk can only be read"),
        (errno.EDQUOT if hasattr(errno, "EDQUOT") else errno.ENOSPC, "the disk"),
        (errno.EIO, "input/output error"),
    ],
)
def test_each_refusal_has_its_words(number: int, why: str) -> None:
    said = cannot_write(Path("there.json"), OSError(number, os.strerror(number)))
    assert why in said.problem
    assert said.remedy


def test_a_folder_in_the_place_of_a_file() -> None:
    said = cannot_make(Path("there.json"), FileExistsError(errno.EEXIST, "File exists"))
    assert str(said) == "the folder there.json cannot be made (it is a file): name a folder"
