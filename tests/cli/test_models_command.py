"""models list and check."""

import shutil
from pathlib import Path

import pytest

from livefusion.cli.main import main
from livefusion.cli.table import table
from livefusion.inference.registry import ModelRegistry

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("flags", "more"), [([], []), (["-v"], ["source"])])
def test_list_names_every_model_and_its_licence(
    flags: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "list", *flags]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "role", "MB", "licence", *more]
    entries = list(ModelRegistry.load().values())
    assert len(rows) == len(entries)
    for row, entry in zip(rows, entries, strict=True):
        assert row.startswith(entry.name)
        assert entry.licence in row
        assert (entry.source in row) is bool(more)


def test_check_of_what_ships(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith("ok ") for line in lines)


def test_a_damaged_file_is_named_and_ends_with_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = ModelRegistry.load()
    copy = tmp_path / "models"
    shutil.copytree(registry.folder, copy)
    victim = copy / registry["yunet"].path.name
    victim.write_bytes(victim.read_bytes()[:-1] + b"!")
    monkeypatch.setenv("LIVEFUSION_MODELS", str(copy))
    assert main(["models", "check"]) == 3
    out, err = capsys.readouterr()
    assert "damaged  yunet" in out
    assert err.startswith("livefusion: error: model yunet")


def test_table_sets_columns() -> None:
    text = table(("name", "MB"), [("a", "1.00"), ("longer", "10.00")], right={1})
    assert text == "name       MB\na        1.00\nlonger  10.00"
