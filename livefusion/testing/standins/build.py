"""Builds the stand-ins as ONNX files. Needs the package ``onnx``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from livefusion.testing.standins import known
from livefusion.testing.standins.truth import HALF, IMAGENET, LATENT, Three, Truth

OPSET: Final = 14
Shape = Sequence[int | str]


class Graph:
    """A graph that grows node by node; each method gives the name of what the node makes."""

    def __init__(self, inner: str = "float32") -> None:
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self.inner = inner

    def constant(self, values: npt.ArrayLike, name: str = "", dtype: str = "") -> str:
        """A tensor of weights."""
        from onnx import numpy_helper

        name = name or f"w{len(self._weights)}"
        array = np.ascontiguousarray(values, dtype or self.inner)
        self._weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A node."""
        from onnx import helper

        output = output or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def enter(self, name: str) -> str:
        """An input in the type in which the graph computes."""
        return name if self.inner == "float32" else self.add("Cast", name, to=10)

    def leave(self, tensor: str, name: str) -> str:
        """An output, float32."""
        return self.add("Identity" if self.inner == "float32" else "Cast", tensor, output=name, **self._to())

    def _to(self) -> dict[str, int]:
        return {} if self.inner == "float32" else {"to": 1}

    def write(
        self, path: Path, inputs: dict[str, Shape], outputs: dict[str, Shape], *, shuffle: int | None = None
    ) -> Path:
        """Write the file; ``shuffle`` puts the weights into another order."""
        import onnx
        from onnx import TensorProto, helper

        def described(specs: dict[str, Shape]) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
                for name, shape in specs.items()
            ]

        weights = list(self._weights)
        if shuffle is not None:
            np.random.default_rng(shuffle).shuffle(weights)
        graph = helper.make_graph(
            self._nodes, "stand-in", described(inputs), described(outputs), initializer=weights
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="stand-in"
        )
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString())
        return path


def build_swap(
    truth: Truth,
    path: Path,
    *,
    emap_name: str = "emap",
    shuffle: int | None = None,
    any_number: bool = False,
    large: bool = False,
) -> Path:
    """The stand-in of a swap network; an inswapper's matrix may be called otherwise and lie anywhere.

    It takes one picture, or with ``any_number`` as many at once as are wanted; a DFM's masks are of one. A
    ``large`` one has values on the way that half precision cannot hold.
    """
    graph = Graph(truth.inner)
    size = truth.size
    rgb = _picture_in(graph, truth)
    mixed = graph.add("Conv", rgb, graph.constant(known.MIX[:, :, None, None]))
    placed = graph.add("Add", mixed, graph.constant(known.pattern(size)[None]))
    inputs: dict[str, Shape] = {truth.input_name: _image_shape(truth, size)}
    added = _told(graph, truth, inputs)
    face = graph.add("Add", placed, added) if added else placed
    face = _enlarged_on_the_way(graph, face) if large else face
    outputs = _picture_out(graph, truth, face)
    if truth.steps == "emap":
        graph.constant(known.emap(), emap_name)  # read by no node
    if any_number:
        inputs = {name: ("batch", *shape[1:]) for name, shape in inputs.items()}
        outputs = {name: ("batch", *shape[1:]) for name, shape in outputs.items()}
    return graph.write(path, inputs, outputs, shuffle=shuffle)


def _enlarged_on_the_way(graph: Graph, face: str) -> str:
    """The face as it is, by way of values of some 100 000.

    They pass through operators that ONNX Runtime has for halves on a CPU too: it computes others in float32,
    and leaves casts out between them.
    """
    large, small = graph.constant(512.0), graph.constant(1 / 512)
    face = graph.add("Mul", graph.add("Mul", face, large), large)
    twice = graph.add("Concat", face, face, axis=1)
    ends = (graph.constant([number], dtype="int64") for number in (0, 3, 1))
    return graph.add("Mul", graph.add("Mul", graph.add("Slice", twice, *ends), small), small)


def build_recogniser(family: str, path: Path) -> Path:
    """A recogniser: embeddings of 112 × 112 pictures, (x − 127.5) / 127.5 but for SimSwap's."""
    graph = Graph()
    mean, deviation = IMAGENET if family == "simswap_arcface" else (HALF, HALF)
    weights, bias = known.recogniser_weights(family)
    rgb = _denormalised(graph, "input.1", mean, deviation)
    pools = _pooled(graph, rgb, 112)
    dense = graph.add("MatMul", pools, graph.constant(weights.T))
    graph.add("Add", dense, graph.constant(bias[None]), output="683")
    return graph.write(path, {"input.1": ("batch", 3, 112, 112)}, {"683": (1, LATENT)})


def build_converter(family: str, path: Path) -> Path:
    """A network that turns ArcFace's embeddings into those of another recogniser."""
    graph = Graph()
    weights, bias = known.converter_weights(family)
    dense = graph.add("MatMul", "input", graph.constant(weights.T))
    graph.add("Add", dense, graph.constant(bias[None]), output="output")
    return graph.write(path, {"input": (1, LATENT)}, {"output": (1, LATENT)})


def _image_shape(truth: Truth, size: int) -> Shape:
    return (1, size, size, 3) if truth.channels_last else (1, 3, size, size)


def _picture_in(graph: Graph, truth: Truth) -> str:
    """The crop as (1, 3, size, size) RGB in [0, 1]."""
    name = graph.enter(truth.input_name)
    if truth.channels_last:
        return _turned(graph, graph.add("Transpose", name, perm=[0, 3, 1, 2]))
    return _denormalised(graph, name, *truth.normalised)


def _picture_out(graph: Graph, truth: Truth, face: str) -> dict[str, Shape]:
    """What it gives: the face, and masks where the family has them."""
    size = truth.size
    if truth.channels_last:
        masks = {"out_face_mask:0": (1, size, size, 1), "out_celeb_face_mask:0": (1, size, size, 1)}
        for name, shape in masks.items():
            graph.add("Identity", graph.constant(soft_disc(size).reshape(shape)), output=name)
        last = graph.add("Transpose", _turned(graph, face), perm=[0, 2, 3, 1])
        graph.leave(last, "out_celeb_face:0")
        return {
            "out_face_mask:0": masks["out_face_mask:0"],
            "out_celeb_face:0": (1, size, size, 3),
            "out_celeb_face_mask:0": masks["out_celeb_face_mask:0"],
        }
    if truth.values == "signed":
        face = graph.add("Sub", graph.add("Mul", face, graph.constant(2.0)), graph.constant(1.0))
    graph.leave(face, truth.output_name)
    outputs: dict[str, Shape] = {truth.output_name: (1, 3, size, size)}
    if truth.mask:
        graph.leave(graph.constant(soft_disc(size)[None, None]), "mask")
        outputs["mask"] = (1, 1, size, size)
    return outputs


def _told(graph: Graph, truth: Truth, inputs: dict[str, Shape]) -> str:
    """What the identity adds, (1, 3, 1, 1), and its input; empty for a face that is baked in."""
    if truth.identity == "embedding":
        inputs[truth.identity_name] = (1, LATENT)
        length = known.RAW_LENGTH if truth.steps == "raw" else 1.0
        name = graph.enter(truth.identity_name)
        sums = graph.add("MatMul", name, graph.constant(known.latent_weights().T / length))
    elif truth.identity == "picture":
        side = truth.picture_side
        inputs[truth.identity_name] = (1, 3, side, side)
        mean, deviation = (HALF, HALF) if truth.picture_signed else ((0.0,) * 3, (1.0,) * 3)
        rgb = _denormalised(graph, graph.enter(truth.identity_name), mean, deviation)
        off = graph.add("Sub", _pooled(graph, rgb, side), graph.constant(0.5))
        sums = graph.add("MatMul", off, graph.constant(known.pool_weights().T))
    elif truth.morphs:
        inputs["morph_value:0"] = (1,)
        sums = graph.add("Mul", graph.constant([[1.1, -0.7, 0.4]]), "morph_value:0")
    else:
        sums = graph.constant([[1.1, -0.7, 0.4]])
    tints = graph.add("Mul", graph.add("Tanh", sums), graph.constant(known.TINT))
    return graph.add("Reshape", tints, graph.constant([-1, 3, 1, 1], dtype="int64"))


def _denormalised(graph: Graph, name: str, mean: Three, deviation: Three) -> str:
    if deviation == (1.0, 1.0, 1.0) and mean == (0.0, 0.0, 0.0):
        return name
    scaled = graph.add("Mul", name, graph.constant(np.reshape(deviation, (1, 3, 1, 1))))
    return graph.add("Add", scaled, graph.constant(np.reshape(mean, (1, 3, 1, 1))))


def _pooled(graph: Graph, picture: str, side: int) -> str:
    step = side // known.POOLS
    pools = graph.add("AveragePool", picture, kernel_shape=[step, step], strides=[step, step])
    return graph.add("Reshape", pools, graph.constant([-1, 3 * known.POOLS**2], dtype="int64"))


def _turned(graph: Graph, picture: str) -> str:
    """BGR to RGB and back."""
    order = graph.constant([2, 1, 0], dtype="int64")
    return graph.add("Gather", picture, order, axis=1)


def soft_disc(size: int) -> npt.NDArray[np.float64]:
    """(size, size) in [0, 1]: 1 where a face is, softly 0 towards the corners."""
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size - 0.5
    disc: npt.NDArray[np.float64] = np.clip((0.62 - np.hypot(x, y)) / 0.1, 0, 1)
    return disc
