"""What lies before a face: hair, glasses, a hand."""

from collections.abc import Iterator

import numpy as np

from livefusion.swap.intake.criterion import Criterion, graded
from livefusion.swap.mesh.bake import View
from livefusion.swap.mesh.canonical import Floats
from livefusion.swap.mesh.glasses import find_rims
from livefusion.swap.mesh.mask import face_mask, forehead_height
from livefusion.swap.mesh.skin import hair_cut

_FOREHEAD = (0.1, 0.6)


def cover_criteria(raw: View, even: View, covered: float | None) -> Iterator[Criterion]:
    """Hair, glasses and other things before the face.

    ``raw`` and ``even`` are the unwrapped photo before and after its light was taken out; ``covered`` is the
    share of the face that something hides, if somebody looked for that.
    """
    cut = 1 - hair_cut(even.rgb)
    height = forehead_height()
    forehead = _share(cut, (height > _FOREHEAD[0]) & (height < _FOREHEAD[1]) & (face_mask() > 0.5))
    yield Criterion(
        "fringe",
        graded(forehead, (0.15, 100), (0.5, 70), (1.0, 10)),
        "hair hangs over the forehead",
        "pin the hair back, so that forehead and brows are bare",
    )
    cheeks = _share(cut, (height < -0.3) & (face_mask() > 0.5))
    yield Criterion(
        "hair",
        graded(cheeks, (0.08, 100), (0.25, 70), (0.6, 10)),
        "hair hangs over the cheeks",
        "put the hair behind the ears",
    )
    worn = bool(find_rims(raw.rgb).any())
    yield Criterion("glasses", 40 if worn else 100, "there are glasses on the face", "take them off")
    if covered is not None:
        yield Criterion(
            "cover",
            graded(covered, (0.03, 100), (0.12, 70), (0.4, 0)),
            "something is before the face",
            "keep hands and things out of the picture",
        )


def _share(cut: Floats, where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return float(cut[np.broadcast_to(where, cut.shape)].mean())
