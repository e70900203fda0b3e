"""The whole graph on real pictures: file in, file out, and what the report says of it."""

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.errors import InputError, OutputError, SettingsError
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.settings import (
    FaceSettings,
    MissingFacePolicy,
    Pace,
    SafetySettings,
    Settings,
    SwapSettings,
)
from livefusion.media.paint import save_marked
from livefusion.media.sinks.null import NullSink
from livefusion.media.sources.file import FileSource
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.report import SCHEMA
from livefusion.pipeline.witness import Witness
from livefusion.swap.persona import PersonaLibrary
from livefusion.testing.performer_clip import render_clip

pytestmark = pytest.mark.media

FRAMES = 12


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "performer.mp4"
    render_clip(path, Size(320, 240), Fraction(30), 100, FRAMES / 30)
    return path


def run(settings: Settings, parts: Parts | None = None) -> dict[str, Any]:
    pipeline = Pipeline(settings, parts=parts)
    try:
        pipeline.start()
        pipeline.wait(60)
    finally:
        pipeline.stop()
    return pipeline.report()


def require_sums(frames: dict[str, Any]) -> None:
    assert frames["captured"] == frames["delivered"] + sum(frames["dropped"].values())
    assert frames["delivered"] == frames["swapped"] + frames["safe"] + frames["clear"]


def test_a_switch_keeps_what_was_set_and_paint_has_its_own_defaults(clip: Path, tmp_path: Path) -> None:
    paint = tmp_path / "paint.png"
    rgba = np.zeros((256, 256, 4), np.uint8)
    rgba[...] = (200, 40, 40, 255)
    save_marked(paint, rgba)
    settings = Settings(
        input=str(clip), output=("null:",), swap=SwapSettings(smoothness=0.5, mouth=0.25, relight=0.6)
    )
    pipeline = Pipeline(settings)
    try:
        pipeline.start()
        first = pipeline.plans.current()
        pipeline.switch(str(paint))
        painted = pipeline.plans.current()
        pipeline.switch(first.identity.id)
        again = pipeline.plans.current()
        pipeline.wait(60)
    finally:
        pipeline.stop()
    assert painted.swap == first.swap.model_copy(update={"shape": 0.0, "match_colour": False})
    assert painted.swap.relight == 0.6, "what was set goes before what paint has"
    assert again.swap == first.swap
    assert np.array_equal(again.identity.texture, first.identity.texture), "as smooth as before"
    plain = PersonaLibrary().load(first.identity.id).texture
    assert not np.array_equal(again.identity.texture, plain)
    assert pipeline.report()["frames"]["raw"] == 0


def test_a_file_is_swapped_frame_by_frame(clip: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mp4"
    report = run(Settings(input=str(clip), output=(str(output), "null:")))
    frames = report["frames"]
    assert report["schema"] == SCHEMA
    assert (frames["captured"], frames["delivered"], frames["raw"]) == (FRAMES, FRAMES, 0)
    assert frames["swapped"] + frames["safe"] == FRAMES
    assert frames["swapped"] > 0
    assert frames["dropped"] == {}
    assert report["faces"]["tracks"] == 1
    assert [one["frames"] for one in report["outputs"]] == [FRAMES, FRAMES]
    with av.open(str(output)) as made:
        assert sum(1 for _ in made.decode(video=0)) == FRAMES


@pytest.mark.parametrize(("badge", "suffix"), [(True, "mp4"), (False, "mp4"), (False, "mkv")])
def test_a_recording_says_what_it_is_with_a_badge_or_without(
    clip: Path, tmp_path: Path, badge: bool, suffix: str
) -> None:
    output = tmp_path / f"out.{suffix}"
    report = run(
        Settings(
            input=str(clip),
            output=(str(output),),
            safety=SafetySettings(badge=badge, badge_off_reason="a test"),
        )
    )
    assert report["badge"] is badge
    with av.open(str(output)) as made:
        comment = {key.lower(): value for key, value in made.metadata.items()}["comment"]
    assert comment == "AI MODIFIED: faces in this video were changed by LiveFusion"


def test_the_report_names_where_each_network_ran(clip: Path) -> None:
    models = run(Settings(input=str(clip), output=("null:",)))["engine"]["models"]
    names = [model["name"] for model in models]
    assert sorted(names) == ["face_landmarks", "face_occluder", "sface", "yunet"]
    assert {model["provider"] for model in models} == {"CPUExecutionProvider"}
    assert all(len(model["sha256"]) == 64 for model in models)


def test_a_network_that_is_not_wanted_is_not_loaded(clip: Path) -> None:
    swap = SwapSettings(occlusion=False)
    models = run(Settings(input=str(clip), output=("null:",), swap=swap))["engine"]["models"]
    assert "face_occluder" not in {model["name"] for model in models}


def test_one_output_that_fails_does_not_stop_the_other(clip: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.mp4"
    report = run(Settings(input=str(clip), output=(str(tmp_path / "missing" / "x.mp4"), str(good))))
    bad, fine = report["outputs"]
    assert bad["errors"]
    assert fine["errors"] == []
    assert fine["frames"] == FRAMES
    assert sum(bad["dropped"].values()) == FRAMES
    assert fine["dropped"] == report["frames"]["dropped"] == {}


def test_real_time_holds_the_cadence(clip: Path) -> None:
    settings = Settings(input=str(clip), output=("null:",), pace=Pace.REALTIME)
    frames = run(settings)["frames"]
    assert frames["captured"] == FRAMES
    require_sums(frames)
    assert frames["raw"] == 0


@pytest.mark.parametrize(("policy", "raw"), [(MissingFacePolicy.PASS, 4), (MissingFacePolicy.BLUR, 0)])
def test_raw_frames_are_counted_where_a_face_is_shown_as_it_is(policy: MissingFacePolicy, raw: int) -> None:
    settings = Settings(
        input="performer:?size=640x360&faces=2&seconds=0.2",
        output=("null:",),
        pace=Pace.FAST,
        faces=FaceSettings(max_faces=1),
        safety=SafetySettings(on_missing_face=policy),
    )
    frames = run(settings)["frames"]
    assert frames["captured"] == frames["delivered"] == 6
    assert (frames["raw"] >= raw) if raw else (frames["raw"] == 0)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"input": "no-such-file.mp4", "output": ("null:",)}, InputError, "no-such-file.mp4"),
        ({"input": "performer:", "output": ("out.txt",)}, OutputError, "out.txt"),
        ({"input": "gopher://x", "output": ("null:",)}, InputError, "gopher"),
        ({"input": "performer:", "output": ("null:", "null:")}, SettingsError, "twice"),
        ({"input": "performer:", "output": ("null:",), "engine": "magic"}, SettingsError, "magic"),
    ],
)
def test_what_cannot_run_says_why(settings: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        run(Settings(**settings))


class Slow(NullSink):
    """Takes its time, so that frames are skipped on the way to it alone."""

    def write(self, item: RenderedFrame) -> None:
        time.sleep(0.12)
        super().write(item)


class Broken(NullSink):
    """Fails at its third picture."""

    def write(self, item: RenderedFrame) -> None:
        if self.stats.frames == 2:
            raise OutputError("the disk is full")
        super().write(item)


@pytest.mark.parametrize("kinds", [(Slow,), (Slow, NullSink), (NullSink, Broken), (Slow, Broken)])
def test_the_frames_of_the_main_output_add_up_whatever_becomes_of_the_others(
    clip: Path, kinds: tuple[type[NullSink], ...]
) -> None:
    parts = Parts(
        source=lambda device: FileSource(clip, device, pace=Pace.REALTIME),
        sinks=[lambda device, output, kind=kind: kind() for kind in kinds],
    )
    report = run(Settings(pace=Pace.REALTIME), parts)
    require_sums(report["frames"])
    for one in report["outputs"]:
        fresh = one["frames"] - one["repeated"] - one["slates"]
        before = sum(count for key, count in report["frames"]["dropped"].items() if "part" not in key)
        assert report["frames"]["captured"] == fresh + sum(one["dropped"].values()) + before


def test_a_repeat_counts_as_no_frame_of_the_source(make_frame: Any) -> None:
    witness = Witness(NullSink())
    frame = make_frame()
    for outcome in (Outcome.SWAPPED, Outcome.RAW):
        witness.write(RenderedFrame(frame, outcome))
        witness.write(RenderedFrame(frame, outcome, stands_in=True))
    assert witness.counts == {Outcome.SWAPPED: 1, Outcome.RAW: 1}
    assert witness.raw == 2
