from pathlib import Path

import pytest

from livefusion.media.paths import leads_somewhere, same_file

pytestmark = pytest.mark.unit

TOO_LONG = Path("x" * 300)


@pytest.mark.parametrize("there", [False, True])
def test_a_detour_leads_to_the_same_file(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "a.mp4"
    if there:
        path.touch()
    (tmp_path / "link").symlink_to(tmp_path)
    assert same_file(path, tmp_path / "link" / ".." / tmp_path.name / "a.mp4")
    assert same_file(path, tmp_path / "link" / "a.mp4")
    assert not same_file(path, tmp_path / "b.mp4")


def test_a_hard_link_is_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert same_file(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("path", [TOO_LONG, Path("a\0b"), Path("none")])
def test_a_name_that_no_file_has_leads_nowhere(path: Path) -> None:
    assert not leads_somewhere(path)


def test_names_that_no_file_can_have_are_compared_all_the_same() -> None:
    assert same_file(TOO_LONG, TOO_LONG)
    assert not same_file(TOO_LONG, Path("a"))
