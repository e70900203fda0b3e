"""The settings model, its catalogue, and what is said of values that it refuses."""

import pytest
from pydantic import ValidationError

from livefusion.core.catalogue import catalogue, group_meaning, settings_schema
from livefusion.core.errors import SettingsError
from livefusion.core.geometry import Size
from livefusion.core.settings import MissingFacePolicy, Settings
from livefusion.core.validate import make_settings

pytestmark = pytest.mark.unit

BY_KEY = {setting.key: setting for setting in catalogue()}


def test_settings_are_an_immutable_snapshot() -> None:
    settings = Settings()
    with pytest.raises(ValidationError):
        settings.device = "cpu"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        settings.safety.badge = False  # type: ignore[misc]


def test_the_safe_choice_is_the_default() -> None:
    assert Settings().safety.on_missing_face is MissingFacePolicy.BLUR
    assert Settings().safety.badge


@pytest.mark.parametrize(
    ("text", "size"), [(None, None), ("1280x720", Size(1280, 720)), ("64x48", Size(64, 48))]
)
def test_picture_size(text: str | None, size: Size | None) -> None:
    assert Settings(size=text).picture_size == size


def test_flags_are_unique_although_groups_are_flattened() -> None:
    flags = [setting.flag for setting in catalogue()]
    assert len(set(flags)) == len(flags)


def test_every_setting_and_group_says_what_it_means() -> None:
    for setting in catalogue():
        assert setting.meaning.endswith(".")
        assert "\n" not in setting.meaning
    assert group_meaning("safety") == "What is shown when a face cannot be swapped."


@pytest.mark.parametrize(
    ("key", "kind", "allowed"),
    [
        ("input", "text", "text"),
        ("output", "list", "a list of texts"),
        ("pace", "choice", "realtime or fast"),
        ("fps", "number", "a number above 0 and up to 240"),
        ("duration", "number", "a number above 0"),
        ("faces.detect_every", "whole number", "a whole number from 1 to 120"),
        ("faces.preprocess", "choice", "auto, cupy or dali"),
        ("faces.detect_score", "number", "a number above 0 and below 1"),
        ("safety.badge", "switch", "true or false"),
        ("safety.on_missing_face", "choice", "blur, safe, hold or pass"),
        ("device", "text", "auto, cpu, cuda or cuda:N"),
    ],
)
def test_catalogue_reads_kind_and_limits_from_the_model(key: str, kind: str, allowed: str) -> None:
    assert (BY_KEY[key].kind, BY_KEY[key].allowed) == (kind, allowed)


def test_schema_is_complete() -> None:
    assert set(settings_schema()["properties"]) == set(Settings.model_fields)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"fps": "fast"}, "fps 'fast' is not valid: it is a number above 0 and up to 240"),
        ({"fps": "inf"}, "fps 'inf' is not valid: it is a number above 0 and up to 240"),
        (
            {"faces": {"detect_score": "nan"}},
            "faces.detect_score 'nan' is not valid: it is a number above 0 and",
        ),
        (
            {"faces": {"max_faces": 2.5}},
            "faces.max_faces '2.5' is not valid: it is a whole number from 1 to 16",
        ),
        ({"size": "0x720"}, "size '0x720' is not valid: it is WIDTHxHEIGHT in pixels"),
        ({"device": "gpu"}, "device 'gpu' is not valid: it is auto, cpu, cuda or cuda:N"),
        ({"output": "out.mp4"}, "output 'out.mp4' is not valid: it is a list of texts"),
        ({"safety": {"on_missing_face": "blu"}}, "'blu' is not valid: it is blur, safe, hold or pass"),
        ({"safety": 3}, "safety is a group of settings, not a value: write [safety]"),
        ({"input": "x" * 99, "fps": "y" * 99}, "fps 'yyy"),
        ({"detect_every": 2}, "there is no setting detect_every: did you mean faces.detect_every?"),
        ({"outputs": []}, "there is no setting outputs: did you mean output?"),
        ({"colour": 1, "fps": -1}, " is not valid"),
    ],
)
def test_what_is_wrong_is_one_line(values: dict[str, object], text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_settings(values)
    line = str(caught.value)
    assert text in line
    assert "\n" not in line
    assert len(line) < 200


def test_a_fault_is_named_as_its_author_named_it() -> None:
    with pytest.raises(SettingsError, match=r"^--detect-every '0' is not valid"):
        make_settings({"faces": {"detect_every": 0}}, {("faces", "detect_every"): "--detect-every"})
