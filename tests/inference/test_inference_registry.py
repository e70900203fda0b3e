"""Registry of models: every shipped file is the registered one, every fault has a message and a remedy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from livefusion.core.errors import ModelError
from livefusion.inference.registry import MODELS_VARIABLE, REGISTRY_FILE, ModelRegistry, find_models_folder

pytestmark = pytest.mark.unit

SHIPPED = {
    "yunet": "detector",
    "face_landmarks": "landmarks",
    "face_landmarks_gpu": "landmarks",
    "face_blendshapes": "blendshapes",
    "selfie_segmentation": "segmentation",
    "sface": "embedding",
    "face_occluder": "occlusion",
    "canonical_mesh": "mesh",
}

ENTRY = """
[[model]]
name = "tiny"
role = "detector"
file = "tiny.onnx"
sha256 = "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"
bytes = 3
licence = "MIT"
source = "a test"
inputs = [{ name = "image", dtype = "float32", shape = [1, "height"], meaning = "0..1" }]
outputs = []
"""
HEAD = 'schema = "livefusion.models/1"\n'


def folder_with(tmp_path: Path, text: str, content: bytes = b"aaa") -> Path:
    (tmp_path / REGISTRY_FILE).write_text(text, encoding="utf-8")
    (tmp_path / "tiny.onnx").write_bytes(content)
    return tmp_path


def test_every_shipped_file_is_the_registered_one() -> None:
    registry = ModelRegistry.load()
    assert {name: entry.role for name, entry in registry.items()} == SHIPPED
    assert [check.problem for check in registry.check_all()] == [""] * len(SHIPPED)
    assert all(entry.licence in {"MIT", "Apache-2.0"} and entry.source for entry in registry.values())


def test_shipped_models_stay_small_enough_for_git() -> None:
    registry = ModelRegistry.load()
    assert registry["sface"].size_bytes <= 12_000_000
    assert sum(entry.size_bytes for entry in registry.values()) <= 20_000_000


def test_no_model_in_the_folder_is_unregistered() -> None:
    registry = ModelRegistry.load()
    assert {path.name for path in registry.folder.glob("*.onnx")} <= {
        entry.path.name for entry in registry.values()
    }


def test_an_entry_keeps_its_tensor_contract(tmp_path: Path) -> None:
    entry = ModelRegistry.load(folder_with(tmp_path, HEAD + ENTRY))["tiny"]
    (tensor,) = entry.inputs
    assert (tensor.name, tensor.dtype, tensor.shape, tensor.is_static) == (
        "image",
        "float32",
        (1, "height"),
        False,
    )
    assert entry.read() == b"aaa"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = [", "not valid TOML"),
        ("", "has schema None"),
        ('schema = "livefusion.models/9"', "has schema 'livefusion.models/9'"),
        (HEAD + ENTRY.replace('role = "detector"', ""), "model 1 in .* is not valid .*role"),
        (HEAD + ENTRY.replace("bytes = 3", 'bytes = "many"'), "model 1 in .* is not valid"),
        (HEAD + ENTRY.replace('name = "tiny"', "name = 7"), "name is 7 instead of a text"),
        (HEAD + ENTRY.replace("9834876d", ""), "does not have 64 digits"),
        (HEAD + ENTRY.replace("tiny.onnx", "../tiny.onnx"), "outside the models folder"),
        (HEAD + ENTRY.replace("inputs = [{", "inputs = [3, {"), "model 1 in .* is not valid"),
        (HEAD + "model = 3", "is not a list of tables"),
        (HEAD + ENTRY + ENTRY, "names tiny twice"),
    ],
)
def test_a_bad_registry_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        ModelRegistry.load(folder_with(tmp_path, text))
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / REGISTRY_FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="not valid TOML"):
        ModelRegistry.load(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"aab"), "is damaged"),
        (lambda path: path.write_bytes(b"aa"), "has 2 bytes instead of 3"),
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
    ],
    ids=["other bytes", "truncated", "missing", "folder"],
)
def test_a_spoilt_file_is_named(tmp_path: Path, spoil: Callable[[Path], object], message: str) -> None:
    registry = ModelRegistry.load(folder_with(tmp_path, HEAD + ENTRY))
    registry["tiny"].verify()
    spoil(tmp_path / "tiny.onnx")
    for fetch in (registry["tiny"].verify, registry["tiny"].read):
        with pytest.raises(ModelError, match=message) as caught:
            fetch()
        assert caught.value.remedy
    (check,) = registry.check_all()
    assert not check.passed
    assert "tiny" in check.problem


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"'inswapper'.*sface") as caught:
        ModelRegistry.load()["inswapper"]
    assert caught.value.exit_status == 3
    assert "inswapper" not in ModelRegistry.load()


def test_the_environment_chooses_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODELS_VARIABLE, str(tmp_path))
    assert find_models_folder() == tmp_path
    with pytest.raises(ModelError, match=f"no model registry.*{MODELS_VARIABLE}"):
        ModelRegistry.load()
    monkeypatch.delenv(MODELS_VARIABLE)
    assert (find_models_folder() / REGISTRY_FILE).is_file()
