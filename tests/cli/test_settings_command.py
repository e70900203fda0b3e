"""The reference page and the schema come from the settings."""

import json
from pathlib import Path

import pytest

from livefusion.cli.config_file import read_config
from livefusion.cli.main import main
from livefusion.core.catalogue import catalogue

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("words", [["settings"], ["settings", "--reference"]])
def test_reference_has_a_row_for_every_setting(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    page = capsys.readouterr().out
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) == len(catalogue())
    for setting, row in zip(catalogue(), rows, strict=True):
        assert row.startswith(f"| `{setting.flag}` | `{setting.key}` | {setting.meaning} |")
        assert row.replace("\\|", "").count("|") == 6
    assert page.count("\n## ") == 6


def test_the_example_of_the_page_is_a_valid_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["settings"]) == 0
    example = capsys.readouterr().out.split("```toml\n")[1].split("```")[0]
    (tmp_path / "show.toml").write_text(example, encoding="utf-8")
    assert read_config(tmp_path / "show.toml")[("safety", "on_missing_face")] == "safe"


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["fps"]["description"].startswith("Frame rate")
