"""models add, fetch, list, check and remove of files that a user brings."""

import hashlib
import json
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.cli.main import main
from livefusion.inference import catalog, known
from livefusion.inference.catalog import find_model, find_of_family
from livefusion.inference.classify import Role
from livefusion.inference.known import KnownModel, KnownModels
from livefusion.inference.session import Session
from livefusion.testing.file_server import Behaviour, FileServer
from livefusion.testing.onnx_files import EMAP, LATENT, graph_file, picture

pytestmark = pytest.mark.net


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models, and no proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LIVEFUSION_USER_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture
def swapper(tmp_path: Path) -> Path:
    inputs = {"target": picture(128), "source": LATENT}
    return graph_file(tmp_path / "my swap.onnx", inputs, {"output": picture(128)}, loose={"emap": EMAP})


@pytest.fixture
def ambiguous(tmp_path: Path) -> Path:
    return graph_file(tmp_path / "inswapper_128.onnx", {"a": picture(256), "b": LATENT}, {"c": picture(256)})


def know(monkeypatch: pytest.MonkeyPatch, content: bytes, *addresses: str, **more: Any) -> None:
    """Have ``content`` be the known file ``demo_swap``."""
    sha256 = hashlib.sha256(content).hexdigest()
    entry = {"size_bytes": len(content), "terms": "https://example.org/terms", **more}
    model = KnownModel(
        "demo_swap", "inswapper", Role.SWAP, "demo.onnx", sha256, "demo licence", addresses, **entry
    )
    models = KnownModels({model.name: model})
    for module in (known, catalog):
        monkeypatch.setattr(module, "known_models", lambda: models)
    from livefusion.cli import models_user

    monkeypatch.setattr(models_user, "known_models", lambda: models)


def answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_file_is_added_under_a_name_and_found_by_it(
    swapper: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "add", str(swapper), "--json", "-"]) == 0
    said = answer(capsys)
    assert (said["name"], said["role"], said["families"]) == ("my_swap", "swap", ["inswapper"])
    swapper.unlink()
    model = find_model("my_swap")
    assert (model.family, model.precision, model.path) == ("inswapper", "fp32", folder / "my_swap.onnx")
    session = Session(model.entry)
    assert session.run(session.empty_inputs())["output"].shape == (1, 3, 128, 128)
    assert sorted(path.name for path in folder.iterdir()) == ["my_swap.json", "my_swap.onnx"]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["inswapper_128_fp16.onnx", "inswapper_128.onnx"])
def test_the_precision_is_that_of_the_weights_whatever_the_name_says(
    tmp_path: Path, dtype: str, name: str
) -> None:
    path = graph_file(
        tmp_path / name,
        {"target": picture(128), "source": LATENT},
        {"output": picture(128)},
        weights={"conv": np.ones((64, 3, 7, 7), dtype), "scale": np.ones(3, np.float32)},
        loose={"emap": EMAP.astype(dtype)},
    )
    assert find_model(str(path)).precision == {"float32": "fp32", "float16": "fp16"}[dtype]


def test_a_file_is_used_by_its_path_without_being_added(swapper: Path, folder: Path) -> None:
    assert find_model(str(swapper)).family == "inswapper"
    assert not folder.exists()


def test_in_place_keeps_no_copy(swapper: Path, folder: Path) -> None:
    assert main(["models", "add", str(swapper), "--in-place", "--name", "here"]) == 0
    assert [path.name for path in folder.iterdir()] == ["here.json"]
    assert find_model("here").path == swapper
    assert main(["models", "remove", "here"]) == 0
    assert swapper.exists()


def test_a_graph_that_fits_several_families_asks_which(
    ambiguous: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name says inswapper, and is not believed."""
    assert main(["models", "add", str(ambiguous), "--name", "mine"]) == 0
    assert "say which with --family" in capsys.readouterr().err
    with pytest.raises(catalog.ModelError, match="fits several families"):
        _ = find_model("mine").family
    assert main(["models", "add", str(ambiguous), "--name", "mine", "--family", "inswapper"]) == 2
    assert "is no inswapper, by its graph" in capsys.readouterr().err
    assert main(["models", "add", str(ambiguous), "--name", "mine", "--family", "ghost"]) == 0
    assert find_model("mine").family == "ghost"
    assert find_of_family("ghost") is not None
    assert find_of_family("simswap") is None


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["add", "missing.onnx"], 3, "cannot be read"),
        (["add", "FILE", "--name", "../x"], 2, "cannot be the name"),
        (["remove", "nothing"], 3, "no model of yours is called nothing"),
        (["fetch", "inswaper_128", "--accept-licence"], 3, "did you mean inswapper_128?"),
        (["fetch", "https://example.org/x.onnx"], 2, "only with its sha256"),
    ],
)
def test_mistakes_are_one_line(
    swapper: Path, words: list[str], status: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", *(str(swapper) if word == "FILE" else word for word in words)]) == status
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert reason in err[0]


def test_a_name_is_not_taken_from_another_file(
    swapper: Path, ambiguous: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "add", str(swapper), "--name", "one"]) == 0
    assert main(["models", "add", str(swapper), "--name", "one"]) == 0
    assert main(["models", "add", str(ambiguous), "--name", "one"]) == 3
    assert "there is another model one" in capsys.readouterr().err


def test_list_and_check_know_the_users_files(
    swapper: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["models", "add", str(swapper)])
    capsys.readouterr()
    assert main(["models", "list", "--json", "-"]) == 0
    rows = {row["name"]: row for row in answer(capsys)["models"]}
    assert rows["my_swap"]["from"] == "yours"
    assert rows["yunet"]["from"] == "ships"
    assert main(["models", "list", "--known"]) == 0
    assert "can be fetched" in capsys.readouterr().out
    content = (folder / "my_swap.onnx").read_bytes()
    (folder / "my_swap.onnx").write_bytes(content[:-1] + b"\0")
    assert main(["models", "check", "--json", "-"]) == 3
    out, err = capsys.readouterr()
    assert [row["name"] for row in json.loads(out)["models"] if not row["ok"]] == ["my_swap"]
    assert "my_swap" in err


def test_fetch_shows_the_licence_and_goes_on_after_a_cut(
    swapper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = swapper.read_bytes()
    monkeypatch.setattr("livefusion.inference.download._WAIT_SECONDS", 0.0)
    with FileServer(Behaviour(content, cuts=[400_000])) as server:
        know(monkeypatch, content, f"{server.address}/demo.onnx")
        assert main(["models", "fetch", "demo_swap", "--accept-licence"]) == 0
        assert [request.range for request in server.requests] == ["", "bytes=400000-"]
        out, err = capsys.readouterr()
        assert "demo licence (https://example.org/terms)" in err
        assert out.startswith("demo_swap is fetched: swap (inswapper), fp32, demo licence")
        assert main(["models", "fetch", "demo_swap", "--accept-licence"]) == 0
        assert "here already" in capsys.readouterr().out
        assert len(server.requests) == 2
    assert find_model("demo_swap").path.read_bytes() == content
    assert sorted(path.name for path in folder.iterdir()) == ["demo_swap.json", "demo_swap.onnx"]


def test_without_the_licence_nothing_is_asked_of_anybody(
    swapper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = swapper.read_bytes()
    with FileServer(Behaviour(content)) as server:
        know(monkeypatch, content, server.address)
        assert main(["models", "fetch", "demo_swap"]) == 2
        assert "fetched only if you agree" in capsys.readouterr().err
        monkeypatch.setattr("livefusion.cli.console.Console.interactive", True)
        monkeypatch.setattr("livefusion.cli.console.Console.ask", lambda self, question: "no")
        assert main(["models", "fetch", "demo_swap"]) == 2
        assert "is not fetched" in capsys.readouterr().err
        assert server.requests == []
        monkeypatch.setattr("livefusion.cli.console.Console.ask", lambda self, question: "Yes")
        assert main(["models", "fetch", "demo_swap"]) == 0


def test_another_content_leaves_nothing_behind(
    swapper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = swapper.read_bytes()
    with FileServer(Behaviour(content[:-1] + b"!")) as server:
        know(monkeypatch, content, server.address)
        assert main(["models", "fetch", "demo_swap", "--accept-licence"]) == 3
    assert "its sha256 is" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_no_space_is_said_before_a_byte_is_written(
    swapper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = swapper.read_bytes()
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1 << 30, 1 << 30, len(content)))
    with FileServer(Behaviour(content)) as server:
        know(monkeypatch, content, server.address)
        assert main(["models", "fetch", "demo_swap", "--accept-licence"]) == 3
    assert "MB free, and" in capsys.readouterr().err
    assert list(folder.iterdir()) == []
    assert main(["models", "add", str(swapper)]) == 3


def test_a_fetched_file_that_must_not_be_loaded_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = b"\x80\x04\x95" + bytes(5000)
    with FileServer(Behaviour(content)) as server:
        address = f"{server.address}/swap.onnx"
        sha256 = hashlib.sha256(content).hexdigest()
        assert main(["models", "fetch", address, "--sha256", sha256, "--accept-licence"]) == 3
    assert "is a pickle" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_an_address_with_its_sha256_is_fetched(
    ambiguous: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = ambiguous.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    with FileServer(Behaviour(content)) as server:
        words = [
            f"{server.address}/a/ghost.onnx",
            "--sha256",
            sha256,
            "--family",
            "ghost",
            "--accept-licence",
        ]
        assert main(["models", "fetch", *words]) == 0
    assert find_model("ghost").family == "ghost"


def test_a_known_file_that_is_not_here_says_how_to_get_it() -> None:
    with pytest.raises(catalog.ModelError, match="livefusion models fetch inswapper_128`"):
        find_model("inswapper_128")
