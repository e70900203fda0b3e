"""Landmark networks that a user brings: 2DFAN-4 (68 points), 2d106 and 1k3d68 of InsightFace, PIPNet (98).

Each sees an upright square round a detected box, in its own size, colours and margin, and gives points of its
own scheme. The built-in mesh of 478 points is what faces are followed and drawn by; these are looked through
with ``livefusion models try``, and ``live_points`` aligns the crops of networks by them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.core.geometry import Affine, Box
from livefusion.core.words import either
from livefusion.faces.landmarks import crop_photo
from livefusion.inference.catalog import ModelFile, find_model
from livefusion.inference.classify import Role
from livefusion.inference.session import Session
from livefusion.ops.preprocess import Normalisation

Points = npt.NDArray[np.float32]
"""(n, 2) x and y in pixels of the photo."""
Outputs = list[npt.NDArray[np.floating]]

_IMAGENET: Final = Normalisation(
    mean=(123.675, 116.28, 103.53), scale=(1 / 58.395, 1 / 57.12, 1 / 57.375), order="rgb"
)


@dataclass(frozen=True, slots=True)
class PointScheme:
    """A family of landmark networks.

    ``side`` is its crop in pixels, ``margin`` the side of the crop over the longer side of the box; ``read``
    turns the outputs, in the order of the graph, into points of the crop; ``five`` names the points of each
    alignment point: eyes, nose tip and mouth corners, left to right in the picture.
    """

    count: int
    side: int
    margin: float
    normalisation: Normalisation
    read: Callable[[Outputs], npt.NDArray[np.floating]]
    five: tuple[tuple[int, ...], ...]

    def five_of(self, points: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
        """(5, 2) alignment points: eye middles, nose tip, mouth corners, left to right in the picture."""
        return np.array([points[list(group)].mean(axis=0) for group in self.five], np.float64)


def _fan(outputs: Outputs) -> npt.NDArray[np.floating]:
    """Of (1, 68, 3) x and y in cells of the 64 × 64 heat maps, which it also gives."""
    (points,) = (one for one in outputs if one.ndim == 3)
    in_crop: npt.NDArray[np.floating] = points[0, :, :2] * (256 / 64)
    return in_crop


def _insightface(count: int, axes: int, side: int) -> Callable[[Outputs], npt.NDArray[np.floating]]:
    """Of a flat vector −1..1 from edge to edge; the points wanted are its last."""

    def read(outputs: Outputs) -> npt.NDArray[np.floating]:
        found = outputs[0].reshape(-1, axes)[-count:, :2]
        return (found + 1) * (side / 2)

    return read


def _pipnet(outputs: Outputs) -> npt.NDArray[np.floating]:
    """Of maps (1, 98, 8, 8): the likeliest cell of each point, and how far into it.

    The maps of ten neighbours a point (1, 980, 8, 8), which steady it, need the mean face of its training.
    """
    cells, across, down = (one[0].reshape(one.shape[1], -1) for one in outputs if one.shape[1] == 98)
    best = cells.argmax(axis=1)
    rows, columns = np.divmod(best, outputs[0].shape[3])
    point = np.arange(len(best))
    stride = 256 / outputs[0].shape[3]
    places = np.column_stack([columns + across[point, best], rows + down[point, best]])
    in_crop: npt.NDArray[np.floating] = places * stride
    return in_crop


SCHEMES: Final[Mapping[str, PointScheme]] = {
    "2dfan4": PointScheme(
        68,
        256,
        256 / 195,
        Normalisation(scale=1 / 255, order="rgb"),
        _fan,
        (tuple(range(36, 42)), tuple(range(42, 48)), (30,), (48,), (54,)),
    ),
    "2d106": PointScheme(
        106,
        192,
        1.5,
        Normalisation(order="rgb"),
        _insightface(106, 2, 192),
        ((38,), (88,), (86,), (52,), (61,)),
    ),
    "1k3d68": PointScheme(
        68,
        192,
        1.5,
        Normalisation(order="rgb"),
        _insightface(68, 3, 192),
        (tuple(range(36, 42)), tuple(range(42, 48)), (30,), (48,), (54,)),
    ),
    "pipnet_98": PointScheme(98, 256, 1.2, _IMAGENET, _pipnet, ((96,), (97,), (54,), (76,), (82,))),
}


class PointNetwork:
    """A user's landmark network at work on photos. One thread at a time."""

    def __init__(self, model: ModelFile, device_name: str = "cpu") -> None:
        """``ModelError`` if the file is none, or of no known family."""
        self.scheme = scheme_of(model)
        self._graph = model.graph
        self._session = Session(model.entry, device_name)

    def find(self, rgb: npt.NDArray[np.uint8], box: Box) -> Points:
        """The points of the face in a box of a (height, width, 3) RGB photo; ``ModelError`` if not finite."""
        scheme = self.scheme
        to_crop = crop_round(box, scheme.side, scheme.margin)
        crop = crop_photo(rgb, to_crop, scheme.side)
        image = self._graph.inputs[0]
        found = self._session.run({image.name: _tensor(crop, scheme.normalisation, image.dtype)})
        points = scheme.read([np.asarray(found[spec.name]) for spec in self._graph.outputs])
        if points.shape != (scheme.count, 2) or not np.isfinite(points).all():
            raise ModelError(
                f"model {self._session.entry.name} gives no points of this face", "try another photo"
            )
        # Networks count from the edge of the crop; pixel centres are whole numbers here.
        return to_crop.inverse()(points.astype(np.float64) - 0.5).astype(np.float32)

    def five(self, points: Points) -> npt.NDArray[np.float64]:
        """(5, 2) alignment points: eye middles, nose tip, mouth corners, left to right in the picture."""
        return self.scheme.five_of(points)


def scheme_of(model: ModelFile) -> PointScheme:
    """How a landmark network is fed and read. ``ModelError`` if it is none, or of no known family."""
    if model.role is not Role.LANDMARKS or model.family not in SCHEMES:
        raise ModelError(f"{model.name} is no landmark network that is known", f"use {either(list(SCHEMES))}")
    return SCHEMES[model.family]


def check_landmarks(chosen: str) -> None:
    """Raise what is wrong with the landmark network that a setting names, before anything is started."""
    if chosen:
        scheme_of(find_model(chosen))


def crop_round(box: Box, side: int, margin: float) -> Affine:
    """The map onto an upright crop whose side is ``margin`` times the longer side of a box, in its middle."""
    scale = side / (margin * max(box.width, box.height, 1.0))
    x, y = box.centre
    shift = (side - 1) / 2
    return Affine([[scale, 0, shift - scale * x], [0, scale, shift - scale * y]])


def _tensor(
    crop: npt.NDArray[np.uint8], normalisation: Normalisation, dtype: str
) -> npt.NDArray[np.floating]:
    mean, scale = np.array(normalisation.mean, np.float32), np.array(normalisation.scale, np.float32)
    values = (crop.astype(np.float32) - mean) * scale
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None], dtype)
