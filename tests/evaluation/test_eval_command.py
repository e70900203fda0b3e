"""``livefusion eval`` and the tool for sets, from end to end on a short performer."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from livefusion.cli.main import main
from livefusion.evaluation.document import SUMMARY, document
from livefusion.evaluation.portrait import source_views
from livefusion.evaluation.sight import Sight
from livefusion.media.photo import load_photo
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.testing.media import decode_clip
from livefusion.testing.performer_clip import render_scene

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import eval_set

pytestmark = pytest.mark.media

QUERY = "performer:?size=320x240&face=110&seed=11"
SHORT = ("--no-second-judge", "--no-occluders", "--no-still")


def _evaluate(target: Path, *flags: str) -> dict[str, Any]:
    assert main(["eval", *flags, "--json", str(target)]) == 0
    found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return found


def test_figures_sheet_and_video(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = _evaluate(tmp_path / "out.json", QUERY, "--duration", "0.3", *SHORT)
    assert whole["schema"] == "livefusion.eval/1"
    assert set(whole["summary"]) == set(SUMMARY)
    (clip,) = whole["clips"]
    summary = clip["summary"]
    assert clip["frames"]["captured"] == 9
    assert clip["faces"]["measured"] >= 8
    assert summary["cos_source"] > summary["cos_performer"]
    assert summary["expression_error"] < 2.5
    assert summary["changed_outside"] == 0
    assert summary["occluder_iou"] is None
    assert clip["reasons"]["occluder_iou"] == "left out"
    assert whole["summary"]["border_delta_e"] == summary["border_delta_e"]
    sheet, video = load_photo(Path(clip["files"]["sheet"])), decode_clip(Path(clip["files"]["video"]))
    assert sheet.shape[0] > 2 * 360
    assert len(video) == 9
    assert (video[0].width, video[0].height) == (640, 240)
    assert "cos_source" in capsys.readouterr().out


def test_help_explains_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {word} " in out for word in SUMMARY)


def test_half_a_swap_is_more_of_the_performer(tmp_path: Path) -> None:
    flags = (QUERY, "--duration", "0.2", *SHORT, "--no-sheet", "--no-video")
    full = _evaluate(tmp_path / "full.json", *flags)["summary"]
    half = _evaluate(tmp_path / "half.json", *flags, "--opacity", "0.5")["summary"]
    assert half["cos_performer"] > full["cos_performer"] + 0.1
    assert half["cos_source"] < full["cos_source"]
    assert half["expression_error"] < full["expression_error"]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "full.json", tmp_path / "half.json"]


def test_occluders_and_still_are_runs_of_their_own(tmp_path: Path) -> None:
    flags = ("--no-second-judge", "--no-sheet", "--no-video")
    (clip,) = _evaluate(tmp_path / "out.json", QUERY, "--duration", "0.2", *flags)["clips"]
    assert set(clip["occluders"]) >= {"hand", "microphone", "hair", "glasses", "iou"}
    assert clip["summary"]["occluder_iou"] is not None
    assert clip["still"]["jitter"]["n"] >= 20
    assert 0 < clip["summary"]["jitter"] < 1


def test_the_truth_of_a_file(tmp_path: Path) -> None:
    clip, truth = tmp_path / "clip.mp4", tmp_path / "truth.npz"
    render_scene(clip, PerformerOptions.parse(f"{QUERY}&seconds=0.2"), truth=truth)
    flags = (*SHORT, "--no-sheet", "--no-video")
    (found,) = _evaluate(tmp_path / "a.json", str(clip), "--truth", str(truth), *flags)["clips"]
    assert 0 < found["expression"]["error_to_truth"]["mean"] < 3
    (found,) = _evaluate(tmp_path / "b.json", str(clip), *flags)["clips"]
    assert found["expression"]["error_to_truth"] == {"mean": None, "reason": "no truth is known"}


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (["performer:"], 2, "the performer never ends"),
        (["camera:0"], 2, "a camera shows no picture twice"),
        (["nothing.mp4"], 2, "nothing.mp4"),
        ([f"{QUERY}&seconds=0.1", "--truth", "nothing.npz"], 2, "nothing.npz does not exist"),
        ([f"{QUERY}&seconds=0.1", "-s", "nobody"], 2, "nobody"),
        ([f"{QUERY}&seconds=0.1", "--sheet-every", "0"], 2, "--sheet-every"),
    ],
)
def test_mistakes(
    flags: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *flags, *SHORT, "--json", str(tmp_path / "out.json")]) == status
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_no_folder_for_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "nowhere" / "out.json"
    assert main(["eval", f"{QUERY}&seconds=0.1", *SHORT, "--json", str(target)]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_file_that_holds_no_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, landmarks=np.zeros((3, 2)))
    flags = [f"{QUERY}&seconds=0.1", "--truth", str(wrong), *SHORT]
    assert main(["eval", *flags, "--json", str(tmp_path / "out.json")]) == 2
    assert "landmarks" in capsys.readouterr().err


def test_a_persona_is_seen_as_its_portrait_which_resembles_it() -> None:
    sight, identity = Sight(), IdentityLibrary().load("alex")
    ((rgb, landmarks),) = source_views("alex", identity, sight)
    assert identity.embedding is not None
    assert float(sight.embedding(rgb, landmarks) @ identity.embedding) > 0.9


def _clip(name: str, value: float | None) -> dict[str, Any]:
    summary = dict.fromkeys(SUMMARY, value)
    return {"input": name, "source": "x", "summary": summary, "reasons": {"cos_source": f"{name}: none"}}


def test_all_clips_count_the_same_and_the_worst_is_named() -> None:
    whole = document([_clip("a", 0.2), _clip("b", 0.6), _clip("c", None)])
    assert whole["summary"]["cos_source"] == pytest.approx(0.4)
    assert whole["worst"]["cos_source"] == {"value": 0.2, "clip": "a as x"}
    assert whole["worst"]["cos_performer"] == {"value": 0.6, "clip": "b as x"}
    nothing = document([_clip("c", None)])
    assert nothing["summary"]["cos_source"] is None
    assert nothing["worst"]["cos_source"] is None
    assert nothing["reasons"]["cos_source"] == "c: none"


def test_a_set_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").touch()
    listed = tmp_path / "set.toml"
    one, other = '[[clip]]\ninput = "clip.mp4"\nsource = "noor"\n', '[[clip]]\ninput = "performer:?face=90"\n'
    listed.write_text(one + other + "duration = 2\n", encoding="utf-8")
    first, second = eval_set.read_set(listed)
    assert first == eval_set.Entry(str(tmp_path / "clip.mp4"), "noor")
    assert first.name == "clip.mp4-as-noor"
    assert second == eval_set.Entry("performer:?face=90", "", ("--duration", "2"))
    assert second.name == "performer-face-90-as-default"


def test_a_set_goes_on_after_a_clip_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, list[str]]] = []

    def evaluate(entry: eval_set.Entry, folder: Path, flags: list[str]) -> dict[str, Any] | None:
        asked.append((entry.input, entry.source, flags))
        return None if entry.input == "b" else _clip(entry.input, 0.5)

    monkeypatch.setattr(eval_set, "evaluate", evaluate)
    words = [str(tmp_path), "-i", "a", "-i", "b", "-i", "c", "-s", "x", "--", "--no-video"]
    assert eval_set.main(words) == 1
    assert asked == [(name, "x", ["--no-video"]) for name in ("a", "b", "c")]
    whole = json.loads((tmp_path / "eval.json").read_text(encoding="utf-8"))
    assert [clip["input"] for clip in whole["clips"]] == ["a", "c"]
    assert "| cos_source | 0.500 | 0.500 | 0.500 |" in (tmp_path / "eval.md").read_text(encoding="utf-8")


def test_a_suggested_persona_is_named_and_a_clip_without_one_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_options: Any) -> SimpleNamespace:
        commands.append(command[3:])
        if command[3] == "eval":
            Path(command[-1]).write_text(json.dumps({"clips": [_clip("a", 0.5) | {"source": "kai"}]}))
            return SimpleNamespace(returncode=0)
        picked = {"a": "kai", "b": None}.get(command[5])
        return SimpleNamespace(returncode=command[5] == "c", stdout=json.dumps({"suggested": picked}))

    monkeypatch.setattr(eval_set.subprocess, "run", run)
    assert eval_set.main([str(tmp_path), "-i", "a", "-i", "b", "-i", "c", "-s", "suggest"]) == 1
    evaluated = [command for command in commands if command[0] == "eval"]
    assert evaluated == [["eval", "a", "-s", "kai", "--json", str(tmp_path / "a-as-kai.json")]]
    assert "| a as kai (suggested) |" in (tmp_path / "eval.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "eval.json").read_text())["clips"][0]["suggested"] is True
    assert "no persona is suggested for b" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[[clip]]\n", '[[clip]]\ninput = "a"\nsauce = "b"\n'])
def test_a_set_that_is_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "set.toml"
    listed.write_text(text, encoding="utf-8")
    assert eval_set.main([str(tmp_path / "out"), "--set", str(listed)]) == 1
    assert capsys.readouterr().err.startswith("eval_set: ")
