"""What a swap network takes and gives, by role, under any names."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.core.errors import ModelError
from livefusion.inference.contract import Family, IdentityKind, read_contract
from livefusion.testing.onnx_files import LATENT, graph_file, picture

pytestmark = pytest.mark.unit


def test_roles_of_an_inswapper_whose_names_and_order_are_another_export(tmp_path: Path) -> None:
    emap = np.random.default_rng(1).normal(size=(512, 512)).astype(np.float16)
    path = graph_file(
        tmp_path / "ghost.onnx",
        {"onnx::Gemm_1": LATENT, "input": picture(128)},
        {"1165": [1, 3, "h", "w"]},
        loose={"initializer_3": emap, "last": np.zeros((512, 3), np.float32)},
    )
    found = read_contract(path)
    assert (found.family, found.size, found.picture) == (Family.INSWAPPER, 128, "1165")
    assert (found.image.name, found.identity and found.identity.name) == ("input", "onnx::Gemm_1")
    assert found.emap is not None
    assert found.emap.dtype == np.float32
    np.testing.assert_array_equal(found.emap, emap.astype(np.float32))


def test_the_mask_of_hyperswap_is_not_taken_for_its_picture(tmp_path: Path) -> None:
    outputs = {"mask": picture(256, 1), "output": picture(256)}
    path = graph_file(tmp_path / "x.onnx", {"source": LATENT, "target": picture(256)}, outputs)
    assert read_contract(path, Family.HYPERSWAP).picture == "output"


@pytest.mark.parametrize(("side", "family"), [(112, Family.BLENDSWAP), (256, Family.UNIFACE)])
def test_networks_that_take_a_picture_of_the_source(tmp_path: Path, side: int, family: Family) -> None:
    inputs = {"source": picture(side), "target": picture(256)}
    found = read_contract(graph_file(tmp_path / "x.onnx", inputs, {"output": picture(256)}))
    assert (found.family, found.identity_kind) == (family, IdentityKind.PICTURE)
    assert (found.image.name, found.identity and found.identity.name) == ("target", "source")


def test_a_dfm_has_three_outputs_in_a_fixed_order(tmp_path: Path) -> None:
    outputs = {"a": ["n", 224, 224, 1], "b": ["n", 224, 224, 3], "c": ["n", 224, 224, 1]}
    inputs = {"morph_value:0": [1], "in_face:0": ["n", 224, 224, 3]}
    found = read_contract(graph_file(tmp_path / "x.dfm", inputs, outputs))
    assert (found.family, found.size, found.identity) == (Family.DFM, 224, None)
    assert (found.mask, found.picture, found.celeb_mask) == ("a", "b", "c")
    assert found.morph is not None


@pytest.mark.parametrize(
    ("inputs", "outputs", "family", "reason"),
    [
        ({"a": picture(256), "b": LATENT}, {"c": picture(256)}, None, "fits several families"),
        (
            {"a": picture(256), "b": LATENT},
            {"c": picture(256)},
            Family.UNIFACE,
            "is no uniface, by its graph",
        ),
        ({"a": picture(512)}, {"c": picture(512)}, None, "is no face-swap network"),
        ({"a": [1, 3, "h", "w"], "b": LATENT}, {"c": picture(256)}, Family.GHOST, "without the size"),
    ],
    ids=["several", "another", "an enhancer", "no size"],
)
def test_what_is_not_clear_is_said(
    tmp_path: Path, inputs: dict, outputs: dict, family: Family | None, reason: str
) -> None:
    with pytest.raises(ModelError, match=reason):
        read_contract(graph_file(tmp_path / "x.onnx", inputs, outputs), family)
