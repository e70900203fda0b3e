"""How a family of swap networks is fed and read: everything in which one differs from the others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from livefusion.inference.contract import Family
from livefusion.swap.neural.template import template

Floats = npt.NDArray[np.float32]
Three = tuple[float, float, float]

IMAGENET_MEAN, IMAGENET_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PLAIN, HALF = (0.0, 0.0, 0.0), (0.5, 0.5, 0.5)
ONE = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Route:
    """Networks between a source's picture and a swap network: a recogniser, and what converts its answer.

    Names are families of the user's models; ``converter`` is empty where none is needed. ``beside`` is a
    second recogniser of the same picture, if there is one: both embeddings are brought to length 1 and added.
    """

    recogniser: str
    converter: str = ""
    beside: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All that are needed, in the order in which they are named here."""
        return tuple(name for name in (self.recogniser, self.converter, self.beside) if name)


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """One family at one size.

    ``template`` names where the five points lie in the crop. The network takes (RGB / 255 − ``mean``) /
    ``deviation`` in the ``layout`` and channel ``order`` that it was exported with, and what it gives is
    RGB / 255 once it is multiplied by ``gain`` and ``offset`` is added, in the same layout and order.
    ``routes`` are the ways to an embedding, the best first; ``latent`` makes of an embedding (512,) float32
    what the network takes. ``picture`` is the template of the source's picture for networks that take one.
    """

    family: Family
    size: int
    template: str
    mean: Three = PLAIN
    deviation: Three = ONE
    gain: float = 1.0
    offset: float = 0.0
    layout: Literal["chw", "hwc"] = "chw"
    order: Literal["rgb", "bgr"] = "rgb"
    routes: tuple[Route, ...] = ()
    latent: Callable[[Floats], Floats] | None = None
    picture: str = ""
    picture_mean: Three = PLAIN
    picture_deviation: Three = ONE

    @property
    def points(self) -> npt.NDArray[np.float64]:
        """(5, 2) places of the five points in pixels of the crop."""
        return template(self.template, self.size)


def unit(values: Floats) -> Floats:
    """The vector (n,) at length 1."""
    return (values / max(float(np.linalg.norm(values)), 1e-9)).astype(np.float32)
