"""Pictures of the performer drawn beforehand, with the truth about them: a camera that costs nothing."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.media.sources.performer_truth import FaceTruth
from livefusion.testing.skin import Skin

Plane = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One drawn picture: luma (h, w), chroma (h/2, w/2, 2), the faces in it and their inner skin."""

    luma: Plane
    chroma: Plane
    truths: tuple[FaceTruth, ...]
    skins: tuple[Skin, ...] = field(default=())

    def untouched(self, shown: Plane) -> float:
        """The largest share of untouched skin among the faces, if the (h, w) luma plane is of this size."""
        if shown.shape != self.luma.shape:
            return 0.0
        shown = np.ascontiguousarray(shown)
        return max((skin.untouched(self.luma, shown) for skin in self.skins), default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Reel:
    """Shots of one scene, to be played forth and back."""

    size: Size
    color: ColorInfo
    shots: tuple[Shot, ...]

    def at(self, position: int) -> Shot:
        """The shot at a position that counts up for ever: the reel turns round at both ends."""
        last = len(self.shots) - 1
        phase = position % (2 * last) if last else 0
        return self.shots[phase if phase <= last else 2 * last - phase]


def draw_reel(options: PerformerOptions, frames: int, first: int = 0, step: int = 1) -> Reel:
    """Draw ``frames`` pictures of a scene from frame ``first`` on, each ``step`` frames."""
    scene = PerformerScene(options)
    size = options.size
    shots = []
    for number in range(first, first + frames * step, step):
        luma = np.empty((size.height, size.width), np.uint8)
        chroma = np.empty((size.height // 2, size.width // 2, 2), np.uint8)
        scene.draw(number, luma, chroma)
        truths = scene.truth(number)
        shots.append(Shot(luma, chroma, truths, tuple(Skin.of(truth, luma.shape) for truth in truths)))
    return Reel(size, options.color, tuple(shots))
