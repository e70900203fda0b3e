"""Files that are not what they should be: each is refused in one line, and none is loaded."""

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from livefusion.core.errors import ModelError  # noqa: E402
from livefusion.inference.engine import onnxruntime  # noqa: E402
from livefusion.inference.onnx_file import read_graph  # noqa: E402
from livefusion.inference.registry import ModelRegistry  # noqa: E402
from livefusion.inference.vet import OPSETS, vet  # noqa: E402
from livefusion.testing.onnx_files import EMAP, LATENT, graph_file, picture  # noqa: E402

pytestmark = pytest.mark.unit


def swapper(path: Path, **more: object) -> Path:
    inputs = {"target": picture(128), "source": LATENT}
    return graph_file(path, inputs, {"output": picture(128)}, loose={"emap": EMAP}, **more)  # type: ignore[arg-type]


def model_of(*nodes: onnx.NodeProto, opset: int = 17, domain: str = "") -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def relu(opset: int = 17) -> onnx.ModelProto:
    return model_of(helper.make_node("Relu", ["x"], ["y"]), opset=opset)


def custom() -> bytes:
    node = helper.make_node("GridSample3D", ["x"], ["y"], domain="mmcv")
    return model_of(node, domain="mmcv").SerializeToString()


def custom_in_a_branch() -> bytes:
    inner = helper.make_graph(
        [helper.make_node("Secret", ["x"], ["z"], domain="evil")],
        "then",
        [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3])],
    )
    yes = helper.make_node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True)))
    node = helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner)
    return model_of(yes, node, domain="evil").SerializeToString()


def external(name: str = "weights.bin") -> bytes:
    model = relu()
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=name)
    model.graph.initializer.append(tensor)
    return model.SerializeToString()


def external_in_a_constant() -> bytes:
    tensor = TensorProto(name="hidden", data_type=TensorProto.FLOAT, dims=[1, 3])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    return model_of(helper.make_node("Constant", [], ["y"], value=tensor)).SerializeToString()


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("archive/data.pkl", b"\x80\x02.")
    return content.getvalue()


def deep(levels: int) -> bytes:
    """A branch in a branch, and so on: more than the package onnx would write or read."""
    graph = b""
    for _ in range(levels):
        attribute = _field(6, graph)
        graph = _field(1, _field(5, attribute))
    return _field(8, b"\x10\x11") + _field(7, graph)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


REFUSED: list[tuple[str, Callable[[], bytes], str]] = [
    ("empty", lambda: b"", "is empty"),
    ("text", lambda: b"not a model, but a line of text\n" * 20, "is no ONNX network that can be read"),
    ("random", lambda: np.random.default_rng(3).bytes(5000), "is no ONNX network|is cut short"),
    ("zeros", lambda: bytes(4096), "is no ONNX network that can be read"),
    ("pickle", lambda: pickle.dumps({"weights": [1.0] * 50}), "is a pickle"),
    ("old pickle of PyTorch", lambda: b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + bytes(99), "is a pickle"),
    ("PyTorch checkpoint", archive, "is a zip archive or a PyTorch checkpoint"),
    ("safetensors", lambda: (90).to_bytes(8, "little") + b'{"a":{"dtype":"F32"}}' + bytes(90), "safetensors"),
    ("Keras", lambda: b"\x89HDF\r\n\x1a\n" + bytes(99), "HDF5"),
    ("TensorFlow Lite", lambda: b"\x1c\0\0\0TFL3" + bytes(99), "TensorFlow Lite"),
    ("ORT format", lambda: b"\x1c\0\0\0ORTM" + bytes(99), "ONNX Runtime's own format"),
    ("engine of TensorRT", lambda: b"ftrt" + bytes(99), "fits one GPU alone"),
    (
        "pointer of Git LFS",
        lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "pointer of Git LFS",
    ),
    ("error page", lambda: b"<!DOCTYPE html><html>Not found</html>", "a web page in place"),
    ("custom operators", custom, r"operators that are not ONNX's \(mmcv: GridSample3D\)"),
    ("custom operators in a branch", custom_in_a_branch, r"not ONNX's \(evil: Secret\)"),
    ("external data", external, "weights in other files"),
    ("external data in a constant", external_in_a_constant, "weights in other files"),
    ("old operators", lambda: relu(6).SerializeToString(), "version 6 of ONNX's operators, and 7 to"),
    ("coming operators", lambda: relu(99).SerializeToString(), "version 99 of ONNX's operators"),
    ("branches without end", lambda: deep(60), "nested too deeply"),
]


@pytest.mark.parametrize(("content", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_must_not_be_loaded_is_refused_in_a_line(
    tmp_path: Path, content: Callable[[], bytes], reason: str
) -> None:
    path = tmp_path / "swap.onnx"
    path.write_bytes(content())
    with pytest.raises(ModelError, match=reason) as caught:
        vet(path)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        vet(tmp_path / "missing.onnx")
    with pytest.raises(ModelError, match="is a folder"):
        vet(tmp_path)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_is_said_to_be(tmp_path: Path, share: float) -> None:
    path = swapper(tmp_path / "swap.onnx")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError, match="is cut short"):
        vet(path)


def test_three_gigabytes_are_refused_before_a_byte_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    path.write_bytes(relu().SerializeToString())
    os.truncate(path, 3 << 30)  # sparse: it takes no room
    with pytest.raises(ModelError, match=r"has 3\.2 GB, and an ONNX file has at most 2\.1"):
        vet(path)


def test_a_large_weight_is_not_read(tmp_path: Path) -> None:
    """Two gigabytes of weights are described by reading kilobytes."""
    head = relu()
    # A length-prefixed raw_data field whose content is a hole in the file.
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 28]).SerializeToString()
    hole = 1 << 30
    body = tensor + b"\x4a" + _varint(hole)
    graph = head.graph.SerializeToString() + b"\x2a" + _varint(len(body) + hole) + body
    del head.graph.node[:]
    opsets = b"".join(b"\x42" + _varint(len(one)) + one for one in [head.opset_import[0].SerializeToString()])
    path = tmp_path / "large.onnx"
    path.write_bytes(opsets + b"\x3a" + _varint(len(graph) + hole) + graph)
    os.truncate(path, path.stat().st_size + hole)
    (weight,) = vet(path).initializers
    assert (weight.name, weight.size, weight.shape) == ("w", hole, (1 << 28,))


@pytest.mark.parametrize("opset", OPSETS)
def test_both_ends_of_what_is_let_through_run(opset: int) -> None:
    session = onnxruntime().InferenceSession(relu(opset).SerializeToString())
    np.testing.assert_array_equal(session.run(None, {"x": np.float32([[-1, 0, 2]])})[0], [[0, 0, 2]])


@pytest.mark.parametrize("listed", [False, True])
def test_a_sound_file_passes_and_constants_are_no_inputs(tmp_path: Path, listed: bool) -> None:
    graph = vet(swapper(tmp_path / "swap.onnx", listed=listed))
    assert [spec.name for spec in graph.inputs] == ["target", "source"]
    assert graph.opset == 17


@pytest.mark.parametrize("model", ["yunet", "face_landmarks", "sface", "face_occluder"])
def test_heads_agree_with_the_package_onnx(model: str) -> None:
    path = ModelRegistry.load()[model].path
    ours, theirs = read_graph(path), onnx.load(str(path))
    assert [node.outputs for node in ours.nodes] == [tuple(node.output) for node in theirs.graph.node]
    for mine, other in zip(ours.initializers, theirs.graph.initializer, strict=True):
        assert mine.name == other.name
        np.testing.assert_array_equal(mine.read(path), numpy_helper.to_array(other))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_of_any_kind_is_a_model_error_or_another_graph(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(_SOUND)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(content)
    # Anything else that is raised fails the test.
    with suppress(ModelError):
        for weight in read_graph(path).initializers:
            weight.read(path)


_SOUND = model_of(
    helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones(3, np.float32), "c")),
    helper.make_node("Add", ["x", "c"], ["s"]),
    helper.make_node("LeakyRelu", ["s"], ["y"], alpha=0.1),
).SerializeToString()
