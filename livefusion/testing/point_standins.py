"""Stand-ins for landmark networks: the true tensors of each family, and points that are known."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from livefusion.testing.graph_maker import GraphMaker, Shape


def landmarks_standin(path: Path, family: str) -> Path:
    """A landmark network whose points lie ``landmark_offsets`` · blue from the middle of what is red."""
    side = {"2dfan4": 256, "pipnet_98": 256}.get(family, 192)
    made = GraphMaker()
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
    made = GraphMaker()
    nothing = made.node("ReduceSum", "input", made.constant([0, 1, 2, 3], np.int64), keepdims=0)
    nothing = made.node("Mul", nothing, made.constant(0.0))
    placed = made.node("Add", made.constant(points), nothing)
    return made.save(path, ("input", [1, 3, side, side]), _landmark_outputs(made, family, placed, side))


def landmark_offsets(family: str) -> npt.NDArray[np.float32]:
    """(n, 2) in pixels of the crop: where each point lies of the middle, if blue is full."""
    count = {"2dfan4": 68, "2d106": 106, "1k3d68": 68, "pipnet_98": 98}[family]
    return np.random.default_rng(count).uniform(-40, 40, (count, 2)).astype(np.float32)


def _mean(made: GraphMaker, weighed: str, whole: str, shape: list[int]) -> str:
    total = made.node("ReduceSum", weighed, made.constant([2, 3], np.int64), keepdims=1)
    return made.node("Reshape", made.node("Div", total, whole), made.constant(shape, np.int64))


def _landmark_outputs(made: GraphMaker, family: str, points: str, side: int) -> list[tuple[str, Shape]]:
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


def _pipnet_outputs(made: GraphMaker, points: str) -> list[tuple[str, Shape]]:
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
