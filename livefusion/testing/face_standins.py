"""Stand-ins for networks of faces that nobody may ship: the true tensors, and an answer that is known.

They see colours. A *marker* in the picture is found where it is red, and its blue says how large the face is;
so a picture in other colours, of another size or elsewhere gives another answer, as does an output that is
read in another order.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from livefusion.testing.graph_maker import GraphMaker, Shape

STRIDES = (8, 16, 32)
POINTS = np.array([[-0.5, -0.4], [0.5, -0.4], [0.0, 0.0], [-0.4, 0.6], [0.4, 0.6]])
"""(5, 2) where the points of a found face lie from its cell, in strides."""


def scrfd_standin(
    path: Path, *, stride: int = 16, anchor: int = 0, side: int | str = "?", batch_axis: bool = False
) -> Path:
    """An SCRFD that answers at one stride and with one of the two anchors of a cell.

    The score is red less green, in 0..1; the box reaches 4 · blue strides from the anchor on each side, and a
    half of that upwards.
    """
    made = GraphMaker()
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
    made = GraphMaker()
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


MIX = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.5, 0.0, 0.0]])
"""What a restorer makes of red, green and blue in −1..1."""


def restorer_standin(
    path: Path, side: int = 512, *, codeformer: bool = False, brittle: float | None = None
) -> Path:
    """A network that gives ``MIX`` of the picture it is given; CodeFormer adds its weight, a double.

    A ``brittle`` one gives no number where a value of the picture is farther than that from 0.
    """
    made = GraphMaker()
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
    made = GraphMaker()
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
    made, side = GraphMaker(), 512 if family == "bisenet" else 256
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


def _denormalised(made: GraphMaker, mean: float, std: float) -> str:
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
