"""Flags over file over defaults, and what is said of a file that is wrong."""

import argparse
from pathlib import Path

import pytest

from livefusion.cli.config_file import read_config
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.parser import CommandParser
from livefusion.core.catalogue import catalogue
from livefusion.core.errors import SettingsError
from livefusion.core.settings import MissingFacePolicy, Pace, Settings

pytestmark = pytest.mark.unit


def parse(*words: str) -> argparse.Namespace:
    parser = CommandParser("livefusion test", "Test.", "livefusion test")
    add_settings(parser)
    return parser.parse(words)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "show.toml"
    path.write_text(
        'input = "camera:1"\noutput = ["vcam:", "show.mp4"]\nfps = 25\n'
        '[safety]\non-missing-face = "hold"\n[faces]\ndetect_every = 5\n',
        encoding="utf-8",
    )
    return path


def test_no_flags_give_the_defaults() -> None:
    assert settings_from(parse()) == Settings()


def test_every_kind_of_flag() -> None:
    settings = settings_from(
        parse(
            *("-i", "clip é.mp4", "-s", "ana", "-o", "a.mp4", "-o", "null:", "--fps", "29.97", "--no-badge"),
            *("--on-missing-face", "safe", "--detect-every", "3", "--pace", "fast", "--report", "r.json"),
        )
    )
    assert (settings.input, settings.source, settings.output) == ("clip é.mp4", "ana", ("a.mp4", "null:"))
    assert (settings.fps, settings.pace, settings.report) == (29.97, Pace.FAST, Path("r.json"))
    assert (settings.safety.on_missing_face, settings.safety.badge) == (MissingFacePolicy.SAFE, False)
    assert settings.faces.detect_every == 3


def test_flags_win_over_the_file_and_the_file_over_the_defaults(config: Path) -> None:
    settings = settings_from(
        parse("--config", str(config), "-o", "null:", "--detect-every", "2"), {"fps": 60}
    )
    assert settings.input == "camera:1"
    assert settings.output == ("null:",)
    assert settings.fps == 25
    assert settings.faces.detect_every == 2
    assert settings.safety.on_missing_face is MissingFacePolicy.HOLD
    assert settings.faces.max_faces == Settings().faces.max_faces


def test_defaults_of_a_command_are_the_weakest() -> None:
    assert settings_from(parse(), {"duration": 10.0, "safety.badge": False}).duration == 10
    assert settings_from(parse("--duration", "3"), {"duration": 10.0}).duration == 3


def unwrapped(text: str) -> str:
    """On one line; a help text is broken behind hyphens too."""
    return " ".join(text.split()).replace("- ", "-")


def test_every_setting_has_a_flag_with_its_meaning_and_one_can_be_left_out() -> None:
    parser = CommandParser("livefusion test", "Test.", "livefusion test")
    add_settings(parser, leave_out={"trace"})
    text = unwrapped(parser.format_help())
    for setting in catalogue():
        assert (f"{setting.flag} " in text) is (setting.key != "trace")
        assert (unwrapped(setting.meaning) in text) is (setting.key != "trace")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("fsp = 25", "there is no setting fsp (in {path}): did you mean fps?"),
        (
            "detect_every = 2",
            "there is no setting detect_every (in {path}): did you mean faces.detect_every?",
        ),
        ("[face]\ndetect_every = 2", "there is no setting face (in {path}): did you mean "),
        (
            "[faces]\ndetect_evry = 2",
            "there is no setting faces.detect_evry (in {path}): did you mean faces.detect_e",
        ),
        ("zebra = 1", "there is no setting zebra (in {path}): `livefusion settings --reference` lists them"),
        ("fps = 0", "fps (in {path}) '0' is not valid: it is a number above 0 and up to 240"),
        ("[safety]\nbadge = 'maybe'", "safety.badge (in {path}) 'maybe' is not valid: it is true or false"),
        ("[safety]\nbadge = 'no'", "safety.badge (in {path}) 'no' is not valid: it is true or false"),
        ("duration = true", "duration (in {path}) True is not valid: it is a number above 0"),
        ("output = 'a.mp4'", "output (in {path}) 'a.mp4' is not valid: it is a list of texts"),
        ("faces = 3", "faces (in {path}) is a group of settings, not a value: write [faces]"),
        ("input = { a = 1 }", "input (in {path}) "),
        ("fps = ", "{path} is not valid TOML (Invalid value"),
        ("\ufeffa = = b", "{path} is not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_line(content: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        settings_from(parse("--config", str(path)))
    assert text.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "text"), [("none.toml", "No such file"), ("", "directory")])
def test_a_file_that_cannot_be_read(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read") as caught:
        read_config(tmp_path / name)
    assert text in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        read_config(path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "notepad.toml"
    path.write_text("\ufefffps = 25", encoding="utf-8")
    assert settings_from(parse("--config", str(path))).fps == 25


@pytest.mark.parametrize("flag", ["--report", "--trace"])
def test_the_configuration_is_never_overwritten(flag: str, tmp_path: Path) -> None:
    path = tmp_path / "show.toml"
    path.write_text("fps = 25")
    detour = tmp_path / "x" / ".." / "show.toml"
    (tmp_path / "x").mkdir()
    with pytest.raises(SettingsError, match="is the configuration itself"):
        settings_from(parse("--config", str(path), flag, str(detour)))
