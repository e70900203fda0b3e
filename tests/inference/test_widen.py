"""Networks in half precision, rewritten in single precision: the same function, without the ceiling."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from livefusion.core.errors import ModelError  # noqa: E402
from livefusion.inference import widen as module  # noqa: E402
from livefusion.inference.catalog import inspect  # noqa: E402
from livefusion.inference.engine import onnxruntime  # noqa: E402
from livefusion.inference.onnx_file import read_graph  # noqa: E402
from livefusion.inference.session import Session  # noqa: E402
from livefusion.inference.widen import widen  # noqa: E402
from livefusion.testing.standins.build import build_swap  # noqa: E402
from livefusion.testing.standins.truth import TRUTHS, truth  # noqa: E402

pytestmark = pytest.mark.unit

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT


def run(content: bytes, **feed: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime().InferenceSession(content, providers=["CPUExecutionProvider"])
    return list(session.run(None, feed))


def weight(values: Any, name: str, dtype: type = np.float16) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def model_of(
    nodes: list[Any],
    inputs: dict[str, int],
    outputs: dict[str, int],
    weights: list[Any] | None = None,
    *,
    listed: bool = False,
    functions: list[Any] | None = None,
) -> bytes:
    """(2, 3) tensors in and out, of the types that are given."""

    def info(name: str, kind: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, [2, 3])

    given_ = [info(name, kind) for name, kind in inputs.items()]
    if listed:
        given_ += [helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in weights or []]
    graph = helper.make_graph(
        nodes, "g", given_, [info(name, kind) for name, kind in outputs.items()], weights or []
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions or [])
    return bytes(made.SerializeToString())


def types_in(content: bytes) -> set[int]:
    """Types of all weights, constants, casts, inputs and outputs, wherever they stand."""
    found: set[int] = set()

    def look(graph: Any) -> None:
        found.update(one.data_type for one in getattr(graph, "initializer", ()))
        for value in (*getattr(graph, "value_info", ()),):
            found.add(value.type.tensor_type.elem_type)
        for node in graph.node:
            for one in node.attribute:
                if one.name in {"to", "dtype"}:
                    found.add(one.i)
                if one.type == onnx.AttributeProto.TENSOR:
                    found.add(one.t.data_type)
                if one.type == onnx.AttributeProto.GRAPH:
                    look(one.g)

    model = onnx.load_from_string(content)
    look(model.graph)
    for function in model.functions:
        look(function)
    return found


X = np.array([[0.1, 0.5, 0.9], [-0.3, 0.7, 2.0]], np.float32)
CAST_IN, CAST_OUT = (
    helper.make_node("Cast", ["x"], ["a"], to=HALF),
    helper.make_node("Cast", ["b"], ["y"], to=SINGLE),
)
EDGES = ({"x": SINGLE}, {"y": SINGLE})


def add_one() -> bytes:
    return model_of(
        [CAST_IN, helper.make_node("Add", ["a", "w"], ["b"]), CAST_OUT], *EDGES, [weight([1.0], "w")]
    )


def bits_in_whole_numbers() -> bytes:
    """Halves as int32_data, which some exporters write."""
    made = onnx.TensorProto(name="w", data_type=HALF, dims=[1])
    made.int32_data.append(int(np.float16(1.0).view(np.uint16)))
    return model_of([CAST_IN, helper.make_node("Add", ["a", "w"], ["b"]), CAST_OUT], *EDGES, [made])


def constant_in_a_node() -> bytes:
    node = helper.make_node("Constant", [], ["w"], value=weight([1.0], "w"))
    return model_of([CAST_IN, node, helper.make_node("Add", ["a", "w"], ["b"]), CAST_OUT], *EDGES)


def filled_by_a_shape() -> bytes:
    nodes = [
        CAST_IN,
        helper.make_node("Shape", ["a"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["w"], value=weight([1.0], "")),
        helper.make_node("Add", ["a", "w"], ["b"]),
        CAST_OUT,
    ]
    return model_of(nodes, *EDGES)


def in_a_branch() -> bytes:
    """A subgraph reads a tensor and a weight of the graph round it."""

    def branch(name: str, op: str) -> Any:
        node = helper.make_node(op, ["a", "w"], [f"{name}_b"])
        out = helper.make_tensor_value_info(f"{name}_b", HALF, [2, 3])
        return helper.make_graph([node], name, [], [out])

    nodes = [
        CAST_IN,
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node(
            "If", ["positive"], ["b"], then_branch=branch("t", "Add"), else_branch=branch("e", "Sub")
        ),
        CAST_OUT,
    ]
    return model_of(nodes, *EDGES, [weight([1.0], "w"), weight(0.0, "zero", np.float32)])


def in_a_function() -> bytes:
    """Whose tensors are called as the input and the output of the graph are."""
    body = [
        helper.make_node("Cast", ["x"], ["z"], to=HALF),
        helper.make_node("Constant", [], ["w"], value=weight([1.0], "w")),
        helper.make_node("Add", ["z", "w"], ["y"]),
    ]
    function = helper.make_function("own", "AddOne", ["x"], ["y"], body, [helper.make_opsetid("", 17)])
    nodes = [helper.make_node("AddOne", ["x"], ["b"], domain="own"), CAST_OUT]
    return model_of(nodes, *EDGES, functions=[function])


def halves_at_the_edges() -> bytes:
    return model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], {"x": HALF}, {"y": HALF}, [weight([1.0], "w")]
    )


def weights_among_the_inputs() -> bytes:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    return model_of(nodes, {"x": HALF}, {"y": HALF}, [weight([1.0], "w")], listed=True)


def whole_numbers() -> bytes:
    """Nothing in halves: not even where a 10 stands."""
    nodes = [
        helper.make_node("Cast", ["x"], ["n"], to=TensorProto.INT32),
        helper.make_node("Add", ["n", "ten"], ["m"]),
        helper.make_node("Cast", ["m"], ["f"], to=SINGLE),
        helper.make_node("Unsqueeze", ["f", "axis"], ["u"]),
        helper.make_node("Squeeze", ["u", "axis"], ["y"]),
    ]
    return model_of(nodes, *EDGES, [weight([10], "ten", np.int32), weight([0], "axis", np.int64)])


CASES = [
    add_one,
    bits_in_whole_numbers,
    constant_in_a_node,
    filled_by_a_shape,
    in_a_branch,
    in_a_function,
    halves_at_the_edges,
    weights_among_the_inputs,
]


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_nothing_inside_is_in_halves_and_the_answer_is_the_same(make: Any) -> None:
    content = make()
    wide = widen(content, "x")
    onnx.checker.check_model(onnx.load_from_string(wide), full_check=True)
    before, after = read_of(content), read_of(wide)
    assert [(one.name, one.dtype) for one in after.inputs] == [(one.name, one.dtype) for one in before.inputs]
    assert [(one.name, one.dtype, one.shape) for one in after.outputs] == [
        (one.name, one.dtype, one.shape) for one in before.outputs
    ]
    inner = types_in(wide) - ({HALF} if before.inputs[0].dtype == "float16" else set())
    assert HALF not in inner
    feed = X.astype(before.inputs[0].dtype)
    (answer,) = run(wide, x=feed)
    assert answer.dtype == before.outputs[0].dtype
    np.testing.assert_allclose(answer, run(content, x=feed)[0], atol=2e-3)
    np.testing.assert_allclose(answer, X + 1, atol=2e-3)


def read_of(content: bytes, path: Path | None = None) -> Any:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.onnx"
        file.write_bytes(content)
        return read_graph(file)


def test_what_has_no_halves_stays_as_it_is() -> None:
    content = whole_numbers()
    assert onnx.load_from_string(widen(content, "x")) == onnx.load_from_string(content)


@pytest.mark.parametrize("one", [one for one in TRUTHS if one.inner == "float16"], ids=lambda one: one.name)
def test_stand_ins_give_what_they_gave(one: Any, tmp_path: Path) -> None:
    path = build_swap(one, tmp_path / "x.onnx")
    content = path.read_bytes()
    wide = widen(content, "x")
    graph = read_graph(path)
    rng = np.random.default_rng(0)
    feed = {spec.name: rng.uniform(0, 0.1, spec.shape).astype(spec.dtype) for spec in graph.inputs}
    for answer, wanted in zip(run(wide, **feed), run(content, **feed), strict=True):
        np.testing.assert_allclose(answer, wanted, atol=4e-3)
    assert HALF not in types_in(wide)
    assert len(wide) < 2.1 * len(content)


def test_values_that_halves_cannot_hold_come_through(tmp_path: Path) -> None:
    one = truth("inswapper_128_half")
    content = build_swap(one, tmp_path / "x.onnx", large=True).read_bytes()
    feed = {"target": np.full((1, 3, 128, 128), 0.5, np.float32), "source": np.zeros((1, 512), np.float32)}
    assert not np.isfinite(run(content, **feed)[0]).all()
    plain = build_swap(truth("inswapper_128"), tmp_path / "y.onnx").read_bytes()
    np.testing.assert_allclose(run(widen(content, "x"), **feed)[0], run(plain, **feed)[0], atol=2e-3)


def test_type_inside_is_told_whatever_a_file_is_called(tmp_path: Path) -> None:
    half, single = truth("inswapper_128_half"), truth("inswapper_128")
    halves = inspect(build_swap(half, tmp_path / "inswapper_128.onnx"))
    singles = inspect(build_swap(single, tmp_path / "inswapper_128_fp16.onnx"))
    assert (halves.entry.computes, singles.entry.computes) == ("float16", "float32")
    assert Session(halves.entry).precision == "fp16"
    assert Session(singles.entry).precision == "fp32"
    assert singles.widened("why") is None
    entry = halves.widened("it is a test")
    assert entry is not None
    session = Session(entry)
    assert session.precision == "fp32"
    (fallback,) = session.fallbacks
    assert (fallback.wanted, fallback.got, fallback.reason) == (
        "inswapper_128 in fp16",
        "fp32",
        "it is a test",
    )
    assert Session(halves.entry).fallbacks == ()


def test_weights_that_are_only_kept_in_halves_are_no_halves(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=SINGLE),
        helper.make_node("Add", ["x", "wide"], ["y"]),
    ]
    path = tmp_path / "x.onnx"
    path.write_bytes(model_of(nodes, *EDGES, [weight([1.0], "w")]))
    assert (read_graph(path).weight_dtype, read_graph(path).inner_dtype) == ("float16", "float32")


def test_what_would_be_too_large_or_is_damaged_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    content = add_one()
    monkeypatch.setattr(module, "LARGEST", 100)
    with pytest.raises(ModelError, match="fp32"):
        widen(content, "x")
    torn = content.replace(np.float16(1).tobytes(), b"")
    for damaged in (content[:-3], torn, b"\x3a\x02\x2a\x10"):
        with pytest.raises(ModelError, match="no ONNX network"):
            widen(damaged, "x")


@given(data=st.binary(max_size=200), cut=st.integers(0, 400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_rewritten_or_refused(data: bytes, cut: int) -> None:
    whole = in_a_branch()
    for content in (data, whole[: cut % len(whole)] + data):
        with suppress(ModelError):
            widen(content, "x")


def test_network_is_shared_by_precision(tmp_path: Path) -> None:
    model = inspect(build_swap(truth("inswapper_128_half"), tmp_path / "x.onnx"))
    entry = model.widened("one")
    assert entry is not None
    first, second = Session(entry), Session(replace(entry, widened="other"))
    assert first._network is second._network
    assert first._network is not Session(model.entry)._network
