"""What a network is, told from its graph alone, under any names and in any order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.inference.classify import classify, find_emap
from livefusion.inference.known import known_models
from livefusion.inference.onnx_file import read_graph
from livefusion.testing.onnx_files import EMAP, LATENT, Typed, detector, graph_file, picture

pytestmark = pytest.mark.unit

SWAP = ("ghost", "simswap", "hififace", "hyperswap", "cscs")
RECOGNISERS = ("arcface", "simswap_arcface", "ghost_arcface", "cscs_arcface", "cscs_adapter")
NETWORKS: list[tuple[str, str, tuple[str, ...], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # what, role, families, inputs, outputs, weights
    ("inswapper", "swap", ("inswapper",), {"target": picture(128), "source": LATENT},
     {"output": picture(128)}, {"loose": {"emap": EMAP}}),
    ("inswapper, emap renamed", "swap", ("inswapper",), {"x": picture(128), "y": LATENT}, {"z": picture(128)},
     {"loose": {"initializer_7": EMAP}, "weights": {"buff2fs": EMAP}}),
    ("inswapper, latent first", "swap", ("inswapper",), {"source": LATENT, "target": picture(128)},
     {"output": picture(128)}, {"loose": {"emap": EMAP}, "listed": True}),
    ("instyleswapper", "swap", ("instyleswapper",), {"target": picture(256), "source": LATENT},
     {"output": picture(256)}, {"loose": {"emap": EMAP}}),
    ("simswap 512, original export", "swap", ("simswap",), {"input": picture(512), "onnx::Gemm_1": LATENT},
     {"output": picture(512)}, {}),
    ("ghost, original export", "swap", SWAP, {"target": picture(256), "source": LATENT},
     {"781": picture(256)}, {}),
    ("hyperswap", "swap", ("hyperswap", "hififace"), {"source": LATENT, "target": picture(256)},
     {"output": picture(256), "mask": picture(256, 1)}, {}),
    ("sizes of the output left free", "swap", SWAP, {"target": picture(256), "source": LATENT},
     {"1165": ["a", "b", "c", "d"]}, {}),
    ("blendswap", "swap", ("blendswap",), {"target": picture(256), "source": picture(112)},
     {"output": picture(256)}, {}),
    ("uniface", "swap", ("uniface",), {"target": picture(256), "source": picture(256)},
     {"output": picture(256)}, {}),
    ("dfm", "swap", ("dfm",), {"in_face:0": ["n", 224, 224, 3], "morph_value:0": [1]},
     {"out_face_mask:0": ["n", 224, 224, 1], "out_celeb_face:0": ["n", 224, 224, 3],
      "out_celeb_face_mask:0": ["n", 224, 224, 1]}, {}),
    ("dfm without morph", "swap", ("dfm",), {"in_face:0": ["n", 320, 320, 3]},
     {"a": ["n", 320, 320, 1], "b": ["n", 320, 320, 3], "c": ["n", 320, 320, 1]}, {}),
    ("arcface", "recogniser", RECOGNISERS, {"input.1": ["None", 3, 112, 112]}, {"683": [1, 512]}, {}),
    ("crossface", "converter", ("crossface_simswap", "crossface_ghost", "crossface_hififace"),
     {"input": LATENT}, {"output": LATENT}, {}),
    ("scrfd", "detector", ("scrfd",), {"input.1": [1, 3, "?", "?"]}, detector((1, 4, 10)), {}),
    ("scrfd, outputs in another order", "detector", ("scrfd",), {"images": picture(640)},
     dict(reversed(detector((1, 4, 10)).items())), {}),
    ("scrfd with a batch axis", "detector", ("scrfd",), {"input": picture(640)},
     {name: [1, *shape] for name, shape in detector((1, 4, 10)).items()}, {}),
    ("scrfd without keypoints", "", (), {"input": picture(640)}, detector((1, 4)), {}),
    ("yunet", "detector", ("yunet",), {"input": picture(640)},
     {name: [1, *shape] for name, shape in detector((1, 1, 4, 10), anchors=1).items()}, {}),
    ("yolo-face", "detector", ("yolo_face",), {"images": picture(640)}, {"output0": [1, 20, 8400]}, {}),
    ("2dfan4", "landmarks", ("2dfan4",), {"input": picture(256)},
     {"landmarks_xyscore": [1, 68, 3], "heatmaps": picture(64, 68)}, {}),
    ("2d106", "landmarks", ("2d106",), {"data": ["None", 3, 192, 192]}, {"fc1": [1, 212]}, {}),
    ("1k3d68", "landmarks", ("1k3d68",), {"data": ["None", 3, 192, 192]}, {"fc1": [1, 3309]}, {}),
    ("pipnet", "landmarks", ("pipnet_98",), {"input": picture(256)},
     {"c": picture(8, 98), "x": picture(8, 98), "y": picture(8, 98), "nx": picture(8, 980),
      "ny": picture(8, 980)}, {}),
    ("gfpgan", "enhancer", ("restorer",), {"input": picture(512)}, {"output": picture(512)}, {}),
    ("gpen 256", "enhancer", ("restorer",), {"input": picture(256)}, {"output": picture(256)}, {}),
    ("codeformer", "enhancer", ("codeformer",), {"input": picture(512), "weight": Typed([1], "float64")},
     {"output": picture(512)}, {}),
    ("real-esrgan", "enhancer", ("upscaler",), {"input": [1, 3, "h", "w"]},
     {"output": [1, 3, "hh", "ww"]}, {}),
    ("xseg", "occlusion", ("xseg",), {"input": ["n", 256, 256, 3]}, {"output": ["n", 256, 256, 1]}, {}),
    ("occluder", "occlusion", ("occluder",), {"img": picture(256)}, {"output": picture(256, 1)}, {}),
    ("bisenet", "parser", ("bisenet",), {"input": picture(512)},
     {"output": picture(512, 19), "a": picture(512, 19), "b": picture(512, 19)}, {}),
    ("a classifier of ImageNet", "", (), {"data": picture(224)}, {"probabilities": [1, 1000]}, {}),
    ("a language model", "", (), {"tokens": [1, 128], "mask": [1, 128]}, {"logits": [1, 128, 32000]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("role", "families", "inputs", "outputs", "more"),
    [row[1:] for row in NETWORKS],
    ids=[row[0] for row in NETWORKS],
)
def test_a_network_is_known_by_its_shapes(
    tmp_path: Path,
    role: str,
    families: tuple[str, ...],
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    more: dict[str, Any],
) -> None:
    kind = classify(read_graph(graph_file(tmp_path / "any.onnx", inputs, outputs, **more)))
    if not role:
        assert kind is None
        return
    assert kind is not None
    assert (kind.role, kind.families) == (role, families)
    assert kind.family == (families[0] if len(families) == 1 else "")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_emap_is_found_wherever_it_stands_and_of_either_type(tmp_path: Path, dtype: type) -> None:
    values = np.random.default_rng(1).normal(size=(512, 512)).astype(dtype)
    path = graph_file(
        tmp_path / "any.onnx",
        {"a": picture(128), "b": LATENT},
        {"c": picture(128)},
        weights={"first": np.ones((512, 512), np.float32), "second": np.ones(3, np.float32)},
        loose={"renamed": values, "last": np.zeros((4, 4), np.float32)},
    )
    graph = read_graph(path)
    assert find_emap(graph) == "renamed"
    (found,) = [one for one in graph.initializers if one.name == "renamed"]
    assert found.dtype == np.dtype(dtype).name
    np.testing.assert_array_equal(found.read(path), values)


def test_two_loose_matrices_are_no_emap_unless_one_is_called_so(tmp_path: Path) -> None:
    pair = {"one": EMAP, "two": EMAP}
    unnamed = graph_file(
        tmp_path / "a.onnx", {"x": picture(128), "y": LATENT}, {"z": picture(128)}, loose=pair
    )
    assert find_emap(read_graph(unnamed)) is None
    pair["emap"] = pair.pop("one")
    named = graph_file(tmp_path / "b.onnx", {"x": picture(128), "y": LATENT}, {"z": picture(128)}, loose=pair)
    assert find_emap(read_graph(named)) == "emap"


def test_the_list_of_known_files_is_sound() -> None:
    models = known_models()
    assert len({model.sha256 for model in models.values()}) == len(models)
    families = {family for row in NETWORKS for family in row[2]} | {
        "cscs_arcface",
        "cscs_adapter",
        "peppapig_98",
    }
    for model in models.values():
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.family in families
        assert model.licence
        assert model.mirrors
        assert all(url.startswith("https://") and url.endswith(model.file) for url in model.mirrors)
        assert model.size_bytes is None or 1e6 < model.size_bytes < 1e9
