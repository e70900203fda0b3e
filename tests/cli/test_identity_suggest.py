"""identity suggest, around figures that are pretended."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import livefusion.evaluation.suggest as suggest_module
from livefusion.cli import json_output
from livefusion.cli.identity_suggest import advice
from livefusion.cli.main import main
from livefusion.core.errors import OutputError
from livefusion.core.settings import Settings
from livefusion.evaluation.figure import Figure
from livefusion.evaluation.suggest import Suggestion, Tried
from livefusion.pipeline.identities import IdentityLibrary

pytestmark = pytest.mark.unit


def _tried(name: str, left: float, source: float) -> Tried:
    return Tried(name, Figure.of([left, left + 0.1]), Figure.of([source], worst="min"), 0.5)


def _found(*tried: tuple[str, float, float]) -> Suggestion:
    return Suggestion(tuple(_tried(*one) for one in tried), 4, 5)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    settings: list[Settings] = []

    def try_on(one: Settings, library: IdentityLibrary, tell: Callable[[str], None]) -> Suggestion:
        settings.append(one)
        tell("picture 1 of 4: kai is tried on")
        return _found(("sam", 0.1, 0.4), ("kai", 0.2, 0.6), ("noor", 0.4, 0.7))

    monkeypatch.setattr(suggest_module, "suggest", try_on)
    return settings


def test_the_table_and_which_one_to_choose(asked: list[Settings], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "suggest", "clip.mp4", "--shape", "0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["sam", "kai", "noor"]
    assert lines[1].split()[1:] == ["0.150", "0.200", "50%", "0.400", "(too", "little)"]
    assert lines[2].split()[1:] == ["0.250", "0.300", "50%", "0.600"]
    assert lines[5].startswith("Choose kai (-s kai): 0.25 of you is left in 4 pictures, below 0.30")
    assert (asked[0].input, asked[0].swap.shape) == ("clip.mp4", 0.5)


def test_json(
    asked: list[Settings],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["identity", "suggest", "clip.mp4", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "livefusion.suggestion/1"
    assert (document["suggested"], document["pictures"], document["faces"]) == ("kai", 4, 5)
    assert (document["below_threshold"], document["below_aim"]) == (True, True)
    assert document["personas"][1] == {
        "name": "kai",
        "cos_performer": {"mean": 0.25, "n": 2, "worst": 0.3},
        "cos_source": {"mean": 0.6, "n": 1, "worst": 0.6},
        "is_performer_share": 0.5,
    }

    def refuse(path: Path, content: bytes) -> None:
        raise OutputError(f"{path} cannot be written (the disk is full)")

    monkeypatch.setattr(json_output, "write_whole", refuse)
    assert main(["identity", "suggest", "clip.mp4", "--json", str(tmp_path / "all.json")]) == 2
    said = capsys.readouterr()
    assert "Choose kai" in said.out  # a file that cannot be written loses no figure
    assert said.err.count("\n") <= 1 + len(asked)


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        ((("kai", 0.20, 0.6),), "below 0.30, which we aim at, and 0.363"),
        ((("kai", 0.28, 0.6),), "below 0.363, SFace's threshold, but above 0.30"),
        ((("kai", 0.40, 0.6),), "SFace still takes the result for you"),
        ((("kai", 0.20, 0.4),), "reaches a cosine of 0.50 to no persona"),
    ],
)
def test_how_well_it_hides_is_said(tried: tuple[tuple[str, float, float], ...], said: str) -> None:
    assert said in advice(_found(*tried))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.mp4"], "nowhere.mp4 does not exist"),
        (["webrtc:"], "give a camera, a file or a photo"),
        (["clip.mp4", "--shape", "7"], "--shape"),
        (["clip.mp4", "--output", "out.mp4"], "does not know --output"),
    ],
)
def test_mistakes(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "suggest", *words]) == 2
    assert said in capsys.readouterr().err


def test_help_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identity", "--help"]) == 0
    assert "hides you best" in " ".join(capsys.readouterr().out.split())
    assert main(["identity", "suggest", "--help"]) == 0
    out = capsys.readouterr().out
    assert "livefusion identity suggest camera:0" in out
    assert "--shape" in out
    assert "--no-badge" not in out
