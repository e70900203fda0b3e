"""Stand-ins for networks of faces that nobody may ship: the true tensors, and an answer that is known.

They see colours. A *marker* in the picture is found where it is red, and its blue says how large the face is;
so a picture in other colours, of another size or elsewhere gives another answer, as does an output that is
read in another order.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str]
STRIDES = (8, 16, 32)
POINTS = np.array([[-0.5, -0.4], [0.5, -0.4], [0.0, 0.0], [-0.4, 0.6], [0.4, 0.6]])
"""(5, 2) where the points of a found face lie from its cell, in strides."""


class _Builder:
    """Collects nodes and constants under names of their own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: npt.ArrayLike, dtype: type = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, operator: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        output = to or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def linear(self, image: str, weights: npt.NDArray[np.floating], bias: npt.NDArray[np.floating]) -> str:
        """A map whose channels are ``weights`` (n, 3) of red, green and blue, and ``bias`` (n,)."""
        return self.node("Conv", image, self.constant(weights[:, :, None, None]), self.constant(bias))

    def save(self, path: Path, image: tuple[str, Shape], outputs: Sequence[tuple[str, Shape]]) -> Path:
        graph = helper.make_graph(
            self.nodes, "stand-in", [_info(*image)], [_info(*one) for one in outputs], self.constants
        )
        opset = helper.make_opsetid("", 17)
        onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
        return path


def scrfd_standin(
    path: Path, *, stride: int = 16, anchor: int = 0, side: int | str = "?", batch_axis: bool = False
) -> Path:
    """An SCRFD that answers at one stride and with one of the two anchors of a cell.

    The score is red less green, in 0..1; the box reaches 4 · blue strides from the anchor on each side, and a
    half of that upwards.
    """
    made = _Builder()
    rgb = _denormalised(made, 127.5, 128.0)
    outputs: list[tuple[str, Shape]] = []
    for kind, depth in (("score", 1), ("bbox", 4), ("kps", 10)):
        for one in STRIDES:
            pooled = made.node("AveragePool", rgb, kernel_shape=[one, one], strides=[one, one])
            weights, bias = np.zeros((2, depth, 3)), np.zeros((2, depth))
            if kind == "score":
                # The other anchor and strides stay below any threshold.
                weights[:, 0] = (0.3, -0.3, 0.0)
                if one == stride:
                    weights[anchor, 0] = (1.0, -1.0, 0.0)
            elif kind == "bbox":
                weights[:, :, 2] = (4.0, 2.0, 4.0, 4.0)
            else:
                bias[:] = POINTS.reshape(-1)
            found = made.linear(pooled, weights.reshape(-1, 3), bias.reshape(-1))
            if kind == "score":
                found = made.node("Clip", found, made.constant(0.0), made.constant(1.0))
            rows = made.node("Transpose", found, perm=[0, 2, 3, 1])
            lead = [1] if batch_axis else []
            name = str(400 + len(outputs))
            made.node("Reshape", rows, made.constant([*lead, -1, depth], np.int64), to=name)
            outputs.append((name, [*lead, 2 * (640 // one) ** 2, depth]))
    return made.save(path, ("input.1", [1, 3, side, side]), outputs)


def yolo_face_standin(path: Path, *, stride: int = 16, side: int = 640) -> Path:
    """A YOLO-face that answers at one stride: 4 · blue strides wide and high, from the middle of the cell."""
    made = _Builder()
    rgb = _denormalised(made, 0.0, 255.0)
    parts = []
    for one in STRIDES:
        pooled = made.node("AveragePool", rgb, kernel_shape=[one, one], strides=[one, one])
        weights, bias = np.zeros((20, 3)), np.zeros(20)
        weights[2:4, 2] = 4.0 * one
        weights[4] = (1.0, -1.0, 0.0) if one == stride else (0.3, -0.3, 0.0)
        bias[5:] = np.column_stack([POINTS * one, np.full(5, 0.9)]).reshape(-1)
        found = made.linear(pooled, weights, bias)
        cells = side // one
        flat = made.node("Reshape", found, made.constant([1, 20, cells * cells], np.int64))
        parts.append(made.node("Add", flat, made.constant(_places(cells, one))))
    made.node("Concat", *parts, to="output0", axis=2)
    count = sum((side // one) ** 2 for one in STRIDES)
    return made.save(path, ("images", [1, 3, side, side]), [("output0", [1, 20, count])])


def landmarks_standin(path: Path, family: str) -> Path:
    """A landmark network whose points lie ``landmark_offsets`` · blue from the middle of what is red."""
    side = {"2dfan4": 256, "pipnet_98": 256}.get(family, 192)
    made = _Builder()
    image = "input"
    if family == "pipnet_98":
        image = made.node("Mul", image, made.constant(np.array([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)))
        image = made.node("Add", image, made.constant(np.array([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)))
    elif family != "2dfan4":
        image = made.node("Mul", image, made.constant(1 / 255))
    red = made.linear(image, np.array([[1.0, -1.0, 0.0]]), np.zeros(1))
    red = made.node("Clip", red, made.constant(0.0), made.constant(1.0))
    blue = made.linear(image, np.array([[0.0, 0.0, 1.0]]), np.zeros(1))
    places = np.stack(np.meshgrid(np.arange(side), np.arange(side))) + 0.5
    whole = made.node("ReduceSum", red, made.constant([1, 2, 3], np.int64), keepdims=1)
    middle = _mean(made, made.node("Mul", red, made.constant(places[None])), whole, [1, 2])
    share = _mean(made, made.node("Mul", red, blue), whole, [1, 1])
    points = made.node("Mul", share, made.constant(landmark_offsets(family)))
    points = made.node("Add", points, middle)  # (n, 2) pixels of the crop, from its edge
    return made.save(path, ("input", [1, 3, side, side]), _landmark_outputs(made, family, points, side))


FIVE = {
    "2dfan4": (range(36, 42), range(42, 48), [30], [48], [54]),
    "1k3d68": (range(36, 42), range(42, 48), [30], [48], [54]),
    "2d106": ([38], [88], [86], [52], [61]),
    "pipnet_98": ([96], [97], [54], [76], [82]),
}
"""Points of each scheme whose means are the eyes, nose tip and mouth corners, left to right."""


def fixed_landmarks_standin(path: Path, family: str, five: npt.NDArray[np.floating]) -> Path:
    """A landmark network that sees the (5, 2) alignment points always in the same place of its crop.

    ``five`` are shares of the crop's side from its edge. The points of an eye lie round its middle.
    """
    side = 256 if family in {"2dfan4", "pipnet_98"} else 192
    points = np.zeros((len(landmark_offsets(family)), 2))
    for group, place in zip(FIVE[family], np.asarray(five) * side, strict=True):
        ring = 2 * np.pi * np.arange(len(group)) / len(group)
        round_it = np.column_stack([np.cos(ring), np.sin(ring)]) * (4.0 if len(group) > 1 else 0.0)
        points[list(group)] = place + round_it
    made = _Builder()
    nothing = made.node("ReduceSum", "input", made.constant([0, 1, 2, 3], np.int64), keepdims=0)
    nothing = made.node("Mul", nothing, made.constant(0.0))
    placed = made.node("Add", made.constant(points), nothing)
    return made.save(path, ("input", [1, 3, side, side]), _landmark_outputs(made, family, placed, side))


MIX = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.5, 0.0, 0.0]])
"""What a restorer makes of red, green and blue in −1..1."""


def restorer_standin(
    path: Path, side: int = 512, *, codeformer: bool = False, brittle: float | None = None
) -> Path:
    """A network that gives ``MIX`` of the picture it is given; CodeFormer adds its weight, a double.

    A ``brittle`` one gives no number where a value of the picture is farther than that from 0.
    """
    made = _Builder()
    mixed = made.linear("input", MIX, np.zeros(3))
    if brittle is not None:
        left = made.node("Sub", made.constant(brittle**2), made.node("Mul", "input", "input"))
        nothing = made.node("Mul", made.node("Sqrt", left), made.constant(0.0))
        mixed = made.node("Add", mixed, nothing)
    image: tuple[str, Shape] = ("input", [1, 3, side, side])
    if not codeformer:
        made.node("Identity", mixed, to="output")
        return made.save(path, image, [("output", [1, 3, side, side])])
    made.nodes.append(helper.make_node("Cast", ["weight"], ["w"], to=TensorProto.FLOAT))
    made.node("Add", mixed, "w", to="output")
    saved = made.save(path, image, [("output", [1, 3, side, side])])
    model = onnx.load(str(saved))
    model.graph.input.append(helper.make_tensor_value_info("weight", TensorProto.DOUBLE, [1]))
    onnx.save(model, str(saved))
    return saved


def upscaler_standin(path: Path, times: int = 4, side: int | str = "?", *, stretched: bool = False) -> Path:
    """A network that makes ``times`` as many pixels a side: ``UPSCALED`` of red, green and blue in 0..1, and
    ``upscaled_waves``. A ``stretched`` one makes twice as many upwards."""
    made = _Builder()
    rgb = made.node("Clip", "input", made.constant(0.0), made.constant(1.0))
    mixed = made.linear(rgb, UPSCALED, np.zeros(3))
    factors = made.constant([1, 1, times * (2 if stretched else 1), times])
    large = made.node("Resize", mixed, "", factors, mode="linear")
    shape = made.node("Shape", large)
    for axis, name in ((3, "x"), (2, "y")):
        count = made.node("Gather", shape, made.constant(axis, np.int64))
        place = made.node("Range", made.constant(0, np.int64), count, made.constant(1, np.int64))
        made.nodes.append(helper.make_node("Cast", [place], [name], to=TensorProto.FLOAT))
        phase = made.node("Mul", name, made.constant(WAVE_STEP))
        wave = made.node("Mul", made.node("Sin", phase), made.constant(WAVE_HEIGHT))
        row = made.constant([1, 1, 1, -1] if name == "x" else [1, 1, -1, 1], np.int64)
        large = made.node("Add", large, made.node("Reshape", wave, row))
    made.node("Identity", large, to="output")
    grown = side * times if isinstance(side, int) else "grown"
    return made.save(path, ("input", [1, 3, side, side]), [("output", [1, 3, grown, grown])])


UPSCALED = np.array([[0.0, 0.5, 0.3], [0.5, 0.0, 0.3], [0.5, 0.3, 0.0]])
WAVE_STEP, WAVE_HEIGHT = 0.2, 0.08


def upscaled_waves(x: npt.NDArray[np.floating], y: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """What an upscaler adds to every channel at a place in its answer, in pixels."""
    return np.asarray(WAVE_HEIGHT * (np.sin(WAVE_STEP * x) + np.sin(WAVE_STEP * y)))


LEAST_RED = 0.6
"""How much more red than blue, in 0..1, what is in front of a face has, by the stand-ins for masks."""


def mask_standin(path: Path, family: str, *, unknown: bool = False) -> Path:
    """An XSeg, occluder or BiSeNet that takes what is red for something in front of a face.

    With ``unknown`` nothing that it gives is a number.
    """
    made, side = _Builder(), 512 if family == "bisenet" else 256
    shape: Shape = [1, side, side, 3] if family == "xseg" else [1, 3, side, side]
    image = "in_face:0"
    if family == "xseg":  # blue first, channels last
        image = made.node("Transpose", image, perm=[0, 3, 1, 2])
    elif family == "bisenet":
        image = made.node("Mul", image, made.constant(np.array([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)))
        image = made.node("Add", image, made.constant(np.array([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)))
    sign = -1.0 if family == "xseg" else 1.0
    depth = 19 if family == "bisenet" else 1
    weights, bias = np.zeros((depth, 3)), np.full(depth, -2.0)
    if family == "bisenet":  # hair against skin
        weights[17], bias[17], bias[1] = (1.0, 0.0, -1.0), 0.0, LEAST_RED
    else:
        middle = 0.5 if family == "xseg" else 0.0
        weights[0], bias[0] = np.array([-8.0, 0.0, 8.0]) * sign, 8 * LEAST_RED + middle
    found = made.linear(image, weights, bias)
    if unknown:
        found = made.node("Add", found, made.constant(np.nan))
    if family == "xseg":
        found = made.node("Transpose", found, perm=[0, 2, 3, 1])
    made.node("Identity", found, to="out")
    out: Shape = [1, side, side, 1] if family == "xseg" else [1, depth, side, side]
    return made.save(path, ("in_face:0", shape), [("out", out)])


def landmark_offsets(family: str) -> npt.NDArray[np.float32]:
    """(n, 2) in pixels of the crop: where each point lies of the middle, if blue is full."""
    count = {"2dfan4": 68, "2d106": 106, "1k3d68": 68, "pipnet_98": 98}[family]
    return np.random.default_rng(count).uniform(-40, 40, (count, 2)).astype(np.float32)


def _mean(made: _Builder, weighed: str, whole: str, shape: list[int]) -> str:
    total = made.node("ReduceSum", weighed, made.constant([2, 3], np.int64), keepdims=1)
    return made.node("Reshape", made.node("Div", total, whole), made.constant(shape, np.int64))


def _landmark_outputs(made: _Builder, family: str, points: str, side: int) -> list[tuple[str, Shape]]:
    """The points as each family gives them."""
    if family == "2dfan4":
        cells = made.node("Div", points, made.constant(4.0))
        ones = made.constant(np.ones((68, 1)))
        scored = made.node("Concat", cells, ones, axis=1)
        made.node("Reshape", scored, made.constant([1, 68, 3], np.int64), to="landmarks_xyscore")
        made.node("Identity", made.constant(np.zeros((1, 68, 64, 64))), to="heatmaps")
        return [("landmarks_xyscore", [1, 68, 3]), ("heatmaps", [1, 68, 64, 64])]
    if family == "pipnet_98":
        return _pipnet_outputs(made, points)
    flat = made.node("Sub", made.node("Div", points, made.constant(side / 2)), made.constant(1.0))
    length = 212
    if family == "1k3d68":
        length = 3309  # the last 68 of 1103 points, each with a depth
        deep = made.node("Concat", flat, made.constant(np.zeros((68, 1))), axis=1)
        flat = made.node("Concat", made.constant(np.ones((1035, 3))), deep, axis=0)
    made.node("Reshape", flat, made.constant([1, length], np.int64), to="fc1")
    return [("fc1", [1, length])]


def _pipnet_outputs(made: _Builder, points: str) -> list[tuple[str, Shape]]:
    """Each point's likeliest cell is another one; what is left of the way is told there alone."""
    cell = np.arange(98) * 5 % 64
    likely = np.zeros((98, 64), np.float32)
    likely[np.arange(98), cell] = 1
    corners = np.stack([cell % 8, cell // 8], axis=1).astype(np.float32)
    left = made.node("Sub", made.node("Div", points, made.constant(32.0)), made.constant(corners))
    outputs: list[tuple[str, Shape]] = [("cls", [1, 98, 8, 8])]
    shape = made.constant([1, 98, 8, 8], np.int64)
    made.node("Reshape", made.constant(likely), shape, to="cls")
    for axis, name in enumerate(("x", "y")):
        one = made.node("Gather", left, made.constant([axis], np.int64), axis=1)
        made.node("Reshape", made.node("Mul", made.constant(likely), one), shape, to=name)
        outputs.append((name, [1, 98, 8, 8]))
    for name in ("nb_x", "nb_y"):
        made.node("Identity", made.constant(np.zeros((1, 980, 8, 8))), to=name)
        outputs.append((name, [1, 980, 8, 8]))
    return outputs


def _denormalised(made: _Builder, mean: float, std: float) -> str:
    """The picture as RGB in 0..1, if it was normalised as it should be."""
    image = "images" if mean == 0 else "input.1"
    scaled = made.node("Mul", image, made.constant(std / 255))
    return made.node("Add", scaled, made.constant(mean / 255))


def _places(cells: int, stride: int) -> npt.NDArray[np.float32]:
    """(1, 20, n) what is added to the outputs of each cell: its middle, in pixels."""
    columns, rows = np.meshgrid(np.arange(cells), np.arange(cells))
    middle = np.stack([columns.reshape(-1), rows.reshape(-1)]) * stride + stride / 2
    added = np.zeros((20, cells * cells), np.float32)
    added[0], added[1] = middle
    added[5::3], added[6::3] = middle[0], middle[1]
    return added[None]


def _info(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
