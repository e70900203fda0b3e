"""Downloads from a server on the loopback that cuts, lies and refuses."""

import errno
import hashlib
from pathlib import Path

import pytest

from livefusion.core.errors import ModelError, SettingsError
from livefusion.inference.download import Download, Downloader, Progress
from livefusion.inference.fetch import of_address
from livefusion.testing.file_server import Behaviour, FileServer

pytestmark = pytest.mark.net

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def wanted(*addresses: str, size: int | None = len(CONTENT)) -> Download:
    return Download("thing", "thing.onnx", SHA256, addresses, size)


def get(
    download: Download, part: Path, *, most: int = 1 << 30, told: list[Progress] | None = None
) -> list[int]:
    """Fetch; the sizes that were required beforehand."""
    required: list[int] = []
    heard = told if told is not None else []
    Downloader(heard.append, required.append, most, sleep=lambda seconds: None).fetch(download, part)
    return required


def test_a_whole_file_comes_and_its_size_is_told_first(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT)) as server:
        assert get(wanted(f"{server.address}/thing.onnx"), tmp_path / "part") == [len(CONTENT)]
        assert [request.range for request in server.requests] == [""]
        assert server.requests[0].user_agent.startswith("livefusion/")
    assert (tmp_path / "part").read_bytes() == CONTENT


@pytest.mark.parametrize("length", [True, False])
def test_a_cut_is_gone_on_with_from_where_it_was(tmp_path: Path, length: bool) -> None:
    with FileServer(Behaviour(CONTENT, cuts=[100_000, 300_001])) as server:
        get(wanted(server.address), tmp_path / "part")
        assert [request.range for request in server.requests] == ["", "bytes=100000-", "bytes=400001-"]
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_a_later_run_goes_on_with_what_an_earlier_one_left(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(CONTENT[:70_000])
    with FileServer(Behaviour(CONTENT)) as server:
        assert get(wanted(server.address), part) == [len(CONTENT) - 70_000]
        assert [request.range for request in server.requests] == ["bytes=70000-"]
    assert part.read_bytes() == CONTENT


def test_a_part_that_was_whole_already_is_kept(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(CONTENT)
    with FileServer(Behaviour(CONTENT)) as server:
        get(wanted(server.address), part)
    assert part.read_bytes() == CONTENT


def test_a_server_without_ranges_starts_anew(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT, cuts=[100_000], ranges=False)) as server:
        get(wanted(server.address), tmp_path / "part")
        assert [request.range for request in server.requests] == ["", "bytes=100000-"]
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_a_server_that_does_not_say_how_much_there_is(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT, length=False)) as server:
        get(wanted(server.address, size=None), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_a_part_of_something_else_is_thrown_away_and_fetched_anew(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"x" * 50_000)
    with FileServer(Behaviour(CONTENT)) as server:
        get(wanted(server.address, server.address), part)
        assert [request.range for request in server.requests] == ["bytes=50000-", ""]
    assert part.read_bytes() == CONTENT


def test_the_next_mirror_is_asked_where_one_does_not_have_it(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT, status=404)) as gone, FileServer(Behaviour(CONTENT)) as there:
        get(wanted(f"{gone.address}/a", f"{there.address}/b"), tmp_path / "part")
        assert (len(gone.requests), len(there.requests)) == (1, 1)
    assert (tmp_path / "part").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("behaviour", "reason", "left"),
    [
        (Behaviour(CONTENT[:-1] + b"!"), "its sha256 is", False),
        (Behaviour(CONTENT + b"!"), f"{len(CONTENT) + 1} bytes instead of {len(CONTENT)}", False),
        (Behaviour(CONTENT, status=403), "HTTP 403", False),
        (Behaviour(CONTENT, cuts=[1000, *[0] * 9]), "the connection was cut", True),
    ],
    ids=["other content", "other size", "forbidden", "cut for good"],
)
def test_what_is_not_the_file_is_refused(
    tmp_path: Path, behaviour: Behaviour, reason: str, left: bool
) -> None:
    part = tmp_path / "part"
    with FileServer(behaviour) as server, pytest.raises(ModelError, match=reason) as caught:
        get(wanted(server.address), part)
    assert "\n" not in str(caught.value)
    assert part.exists() is left


def test_nobody_listens(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT)) as server:
        address = server.address
    with pytest.raises(ModelError, match="refused"):
        get(wanted(address), tmp_path / "part")


def test_more_than_a_model_can_be_is_not_taken(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT)) as server, pytest.raises(ModelError, match="too much for a model"):
        get(wanted(server.address, size=None), tmp_path / "part", most=1000)
    with (
        FileServer(Behaviour(CONTENT, length=False)) as server,
        pytest.raises(ModelError, match="more than it said"),
    ):
        get(wanted(server.address, size=None), tmp_path / "part", most=1000)


def test_without_space_nothing_is_written(tmp_path: Path) -> None:
    def full(size: int) -> None:
        raise ModelError(f"no room for {size}")

    with FileServer(Behaviour(CONTENT)) as server, pytest.raises(ModelError, match="no room for 1048576"):
        Downloader(lambda progress: None, full, 1 << 30).fetch(wanted(server.address), tmp_path / "part")
    assert not (tmp_path / "part").exists()


def test_a_disk_that_fills_up_is_no_fault_of_the_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Downloader, *arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Downloader, "_copy", full)
    with FileServer(Behaviour(CONTENT)) as server, pytest.raises(ModelError, match="cannot be written"):
        get(wanted(server.address, server.address), tmp_path / "part")
    assert len(server.requests) == 1


def test_it_goes_through_the_proxy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FileServer(Behaviour(CONTENT)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address)
        get(wanted("http://models.invalid/thing.onnx"), tmp_path / "part")
        assert [request.path for request in proxy.requests] == ["http://models.invalid/thing.onnx"]
    assert (tmp_path / "part").read_bytes() == CONTENT


def test_it_follows_where_a_mirror_sends_it_and_keeps_the_range(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(CONTENT[:1000])
    with (
        FileServer(Behaviour(CONTENT)) as store,
        FileServer(Behaviour(b"", moved=f"{store.address}/blob")) as page,
    ):
        get(wanted(page.address), part)
        assert [request.range for request in store.requests] == ["bytes=1000-"]
    assert part.read_bytes() == CONTENT


@pytest.mark.parametrize("scheme", ["file", "ftp", "data"])
def test_only_the_web_is_asked(tmp_path: Path, scheme: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(CONTENT)
    with pytest.raises(ModelError, match="unknown url type"):
        get(wanted(f"{scheme}://{secret}"), tmp_path / "part")
    with FileServer(Behaviour(b"", moved=f"file://{secret}")) as server, pytest.raises(ModelError):
        get(wanted(server.address), tmp_path / "part")
    assert not (tmp_path / "part").exists()


def test_no_password_of_an_address_is_shown(tmp_path: Path) -> None:
    with FileServer(Behaviour(CONTENT, status=403)) as server, pytest.raises(ModelError) as caught:
        get(wanted(f"{server.address}/x?token=hunter2"), tmp_path / "part")
    assert "hunter2" not in str(caught.value)


def test_progress_says_how_far_and_how_long() -> None:
    line = Progress("ghost_2", 143_000_000, 340_000_000, 11_000_000).line
    assert line == "ghost_2:  42% · 143 of 340 MB · 11.0 MB/s · 0:18 left"
    assert Progress("ghost_2", 5_000_000, None, 1e6).line == "ghost_2: 5 MB · 1.0 MB/s"


@pytest.mark.parametrize(
    ("address", "sha256", "reason"),
    [
        ("file:///etc/passwd", SHA256, "file: is not fetched from"),
        ("https:///x.onnx", SHA256, "is not fetched from"),
        ("https://example.org/x.onnx", "", "only with its sha256"),
        ("https://example.org/x.onnx", "abc", "only with its sha256"),
    ],
)
def test_an_address_needs_a_sha256(address: str, sha256: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        of_address(address, sha256)


def test_an_address_names_its_file() -> None:
    found = of_address("https://example.org/a/My%20swap.v2.onnx?download=true", SHA256.upper())
    assert (found.name, found.file, found.sha256) == ("My_swap.v2", "My swap.v2.onnx", SHA256)
