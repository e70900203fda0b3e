"""Can the edge of the new face be seen: colour across it, against the same place in the input."""

from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.evaluation.colour_difference import delta_e
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.picture import Floats, lab
from livefusion.evaluation.view import FaceView, Mask

_SECTORS = 24
_RING = 0.035
"""Width of the rings on both sides of the edge, in widths of the face."""
_FULL, _LEAST_PIXELS = 0.85, 12
# What still counts as skin: so many standard deviations of the inner face's colours, and at least so much.
_SPREADS, _LEAST_SPREAD = 3.0, np.array([14.0, 6.0, 6.0])


class BorderMeasure:
    """ΔE₀₀ of colours averaged over ring and sector, so that pores and grain do not count.

    ``delta_e`` is between the ring just inside the edge, where the new face has its full strength, and the
    same ring in the input: since nothing changes outside, this is how much the step across the edge changed.
    ``step`` is by how much ΔE₀₀ between the rings inside and outside grew, 0 where it shrank. Both look only
    where the ring was skin; ``not_skin`` is the share of it that was not: hair that the new face covers.
    """

    name = "border"

    def __init__(self) -> None:
        self._rows: dict[str, list[float]] = {"delta_e": [], "worst_sector": [], "step": [], "not_skin": []}
        self._known = self._seen = False

    def add(self, view: FaceView) -> None:
        """Compare the rings."""
        self._seen = True
        if view.alpha is None:
            return
        self._known = True
        rings = Rings.of(view.alpha, view.width)
        before = lab(view.before.rgb[view.window.luma])
        after = lab(view.after.rgb[view.window.luma])
        skin = like(before, view.skin)
        if rings.inside.any():
            self._rows["not_skin"].append(float(np.mean(~skin[rings.inside])))
        sectors = list(rings.sectors(skin))
        if sectors:
            deltas, steps = zip(*(_compare(before, after, *sector) for sector in sectors), strict=True)
            self._rows["delta_e"].append(float(np.mean(deltas)))
            self._rows["worst_sector"].append(max(deltas))
            self._rows["step"].append(float(np.mean(steps)))

    def figures(self) -> Figures:
        """Means over the edge; ``worst_sector`` is the worst place of each picture's edge."""
        unknown = "what was pasted cannot be told" if self._seen else "no face was swapped"
        reason = "no edge lies on skin" if self._known else unknown
        return {name: Figure.of(values, reason=reason) for name, values in self._rows.items()}


def like(colours: Floats, sample: Mask) -> Mask:
    """Which pixels of a L*a*b* picture have a colour that the sample has, in light or shadow."""
    if not sample.any():
        return np.zeros(sample.shape, np.bool_)
    values = colours[sample]
    middle = np.median(values, axis=0)
    spread = 1.4826 * np.median(np.abs(values - middle), axis=0)
    near = np.abs(colours - middle) <= np.maximum(_SPREADS * spread, _LEAST_SPREAD)
    return np.asarray(near.all(axis=2))


def _compare(before: Floats, after: Floats, inside: Mask, outside: Mask) -> tuple[float, float]:
    """ΔE₀₀ of the ring inside, and the growth of the step from there to the ring outside."""
    was_in, was_out = before[inside].mean(axis=0), before[outside].mean(axis=0)
    now_in, now_out = after[inside].mean(axis=0), after[outside].mean(axis=0)
    growth = float(delta_e(now_in, now_out)) - float(delta_e(was_in, was_out))
    return float(delta_e(now_in, was_in)), max(0.0, growth)


class Rings:
    """The pixels just inside and just outside a soft edge, by sector round the face."""

    def __init__(self, inside: Mask, outside: Mask, sector: npt.NDArray[np.intp]) -> None:
        self.inside = inside
        self.outside = outside
        self._sector = sector

    @staticmethod
    def of(alpha: npt.NDArray[np.uint8], width: float) -> "Rings":
        """The rings along the outer edge of a face ``width`` pixels wide; holes have none."""
        reach = max(2.0, _RING * width)
        touched, full = _filled(alpha > 0), _filled(alpha >= _FULL * float(alpha.max(initial=1)))
        inside = full & (_depth(full) <= reach)
        outside = ~touched & (_depth(~touched) <= reach)
        inside &= alpha >= _FULL * float(alpha.max(initial=1))
        ys, xs = np.nonzero(touched)
        if not len(xs):
            return Rings(inside, outside, np.zeros(alpha.shape, np.intp))
        grid_y, grid_x = np.mgrid[0 : alpha.shape[0], 0 : alpha.shape[1]]
        angle = np.arctan2(grid_y - ys.mean(), grid_x - xs.mean()) / (2 * np.pi) + 0.5
        return Rings(inside, outside, np.asarray(np.minimum(angle * _SECTORS, _SECTORS - 1), np.intp))

    def sectors(self, counts: Mask) -> Iterator[tuple[Mask, Mask]]:
        """Inside, where it ``counts``, and outside of each sector that has enough of both."""
        for number in range(_SECTORS):
            here = self._sector == number
            inside, outside = self.inside & counts & here, self.outside & here
            if min(np.count_nonzero(inside), np.count_nonzero(outside)) >= _LEAST_PIXELS:
                yield inside, outside


def _filled(mask: Mask) -> Mask:
    """A mask without its holes."""
    image = mask.astype(np.uint8)
    outlines, _ = cv2.findContours(image, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return np.asarray(cv2.drawContours(image, outlines, -1, 1, cv2.FILLED), np.bool_)


def _depth(mask: Mask) -> Floats:
    """How far each pixel of the mask is from its edge; the border of the picture is no edge."""
    return np.asarray(cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5), np.float32)
