from pathlib import Path

import pytest

from livefusion.core.errors import SettingsError
from livefusion.server.secret import SHORTEST, token_file, token_of

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_what_is_chosen_is_taken_and_not_kept() -> None:
    assert token_of("s3cret", reachable=False) == "s3cret"
    assert token_of("s3cret" * 3, reachable=True) == "s3cret" * 3
    assert not token_file().exists()


def test_one_is_made_once_for_its_owner_alone() -> None:
    made = token_of("", reachable=True)
    assert len(made) >= SHORTEST
    assert token_of("", reachable=False) == made
    assert token_file().read_text() == made
    assert token_file().stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["short", "", "\xff" * 20, "with\0zero" * 4])
def test_what_is_no_token_is_made_anew(content: str) -> None:
    token_of("", reachable=False)
    token_file().write_text(content, encoding="latin-1")
    made = token_of("", reachable=False)
    assert made != content
    assert token_of("", reachable=False) == made


def test_one_that_others_could_read_is_made_anew() -> None:
    first = token_of("", reachable=False)
    token_file().chmod(0o644)
    second = token_of("", reachable=False)
    assert second != first
    assert token_file().stat().st_mode & 0o077 == 0
    assert token_of("", reachable=False) == second


def test_without_a_place_to_keep_it_there_is_one_for_this_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LIVEFUSION_HOME", str(tmp_path / "file" / "home"))
    made = token_of("", reachable=False)
    assert len(made) >= SHORTEST
    assert "cannot be kept" in caplog.text
    assert made not in caplog.text


@pytest.mark.parametrize(
    ("chosen", "reachable", "match"),
    [
        ("s3cret", True, "too short"),
        ("s3 cret", False, "header"),
        ("s3crét", False, "header"),
        ("a\nb", False, "header"),
    ],
)
def test_a_bad_one_is_refused_without_repeating_it(chosen: str, reachable: bool, match: str) -> None:
    with pytest.raises(SettingsError, match=match) as caught:
        token_of(chosen, reachable=reachable)
    assert chosen not in str(caught.value)
