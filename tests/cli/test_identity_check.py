"""identity check, around photos whose scores are pretended."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import livefusion.pipeline.photo_check as photo_check
from livefusion.cli import json_output
from livefusion.cli.main import main
from livefusion.core.errors import OutputError
from livefusion.pipeline.photo_check import CheckedPhoto
from livefusion.swap.intake import Criterion, PhotoScore

pytestmark = pytest.mark.unit


def _photo(name: str, size: int, fatal: bool = False) -> CheckedPhoto:
    small = Criterion("size", size, f"{name} is small", "go nearer", fatal)
    score = PhotoScore(name, (Criterion("pose", 95), small))
    return CheckedPhoto(Path(name), score, "it is small: go nearer" if fatal else "")


NO_FACE = CheckedPhoto(Path("tree.jpg"), None, "there is no face in tree.jpg: use a photo of one")


def _refuse(path: Path, content: bytes) -> None:
    raise OutputError(f"{path} cannot be written (the disk is full)")


def _pretend(monkeypatch: pytest.MonkeyPatch, *checked: CheckedPhoto) -> None:
    def check(paths: Sequence[Path]) -> list[CheckedPhoto]:
        assert len(paths) == len(checked)
        return list(checked)

    monkeypatch.setattr(photo_check, "check_photos", check)


def test_the_table_and_a_line_for_each_photo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pretend(monkeypatch, _photo("a.jpg", 90), _photo("b.jpg", 40), NO_FACE)
    assert main(["identity", "check", "a.jpg", "b.jpg", "tree.jpg"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["photo,", "best", "first", "overall"]
    assert lines[1].split()[:2] == ["a.jpg", "91"]
    assert lines[2].split() == ["b.jpg", "54", "95", "100", "100", "100", "40", "100"]
    assert lines[3:] == [
        "a.jpg: good as it is",
        "b.jpg: b.jpg is small; go nearer",
        "tree.jpg cannot be used: there is no face in tree.jpg: use a photo of one",
    ]


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _pretend(monkeypatch, _photo("a.jpg", 90), NO_FACE)
    assert main(["identity", "check", "a.jpg", "tree.jpg", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "livefusion.photos/1"
    assert document["photos"][0]["criteria"] == {"pose": 95, "size": 90}
    assert document["photos"][1]["usable"] is False
    assert main(["identity", "check", "a.jpg", "tree.jpg", "--json", str(tmp_path / "all.json")]) == 0
    assert json.loads((tmp_path / "all.json").read_text()) == document


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        ([NO_FACE], "there is no face in tree.jpg: use a photo of one"),
        ([_photo("a.jpg", 5, fatal=True)], "it is small: go nearer"),
        ([NO_FACE, NO_FACE], "none of 2 photos can be used"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    checked: list[CheckedPhoto],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _pretend(monkeypatch, *checked)
    assert main(["identity", "check", *(str(each.path) for each in checked)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "check", "nowhere.jpg"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_report_is_there_if_the_json_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _pretend(monkeypatch, _photo("a.jpg", 90), NO_FACE)
    monkeypatch.setattr(json_output, "write_whole", _refuse)
    assert main(["identity", "check", "a.jpg", "tree.jpg", "--json", str(tmp_path / "all.json")]) == 2
    said = capsys.readouterr()
    assert "a.jpg: good as it is" in said.out
    assert said.err.count("\n") == 1
