"""Who is it: the result against the source and against the performer, by SFace."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.view import FaceView
from livefusion.faces.embed import SAME_PERSON, cosine

Embedding = npt.NDArray[np.float32]


class Recogniser(Protocol):
    """What embeds faces (``evaluation.sight.Sight``)."""

    def embedding(self, rgb: Rgb, landmarks: Landmarks) -> Embedding:
        """The (128,) unit embedding of the face with those landmarks."""
        ...


class IdentityMeasure:
    """Cosines by SFace: one person from ``SAME_PERSON`` on. Faces are aligned by their own landmarks."""

    name = "identity"

    def __init__(self, recogniser: Recogniser, source: Embedding | None) -> None:
        self._recogniser = recogniser
        self._source = source
        self._to_source: list[float] = []
        self._to_performer: list[float] = []
        self._before: list[float] = []

    def add(self, view: FaceView) -> None:
        """Embed the face before and after."""
        performer = self._recogniser.embedding(view.before.rgb, view.was)
        result = self._recogniser.embedding(view.after.rgb, view.now)
        self._to_performer.append(cosine(result, performer))
        if self._source is not None:
            self._to_source.append(cosine(result, self._source))
            self._before.append(cosine(performer, self._source))

    def figures(self) -> Figures:
        """Mean and worst cosines, and the share of faces that pass SFace's own threshold."""
        reason = "the source has no embedding" if self._to_performer else "no face was swapped"
        return {
            "cos_source": Figure.of(self._to_source, worst="min", reason=reason),
            "cos_performer": Figure.of(self._to_performer),
            "performer_to_source": Figure.of(self._before, reason=reason),
            "is_source_share": _share([one >= SAME_PERSON for one in self._to_source], reason),
            "is_performer_share": _share([one >= SAME_PERSON for one in self._to_performer], reason),
        }


def _share(hits: list[bool], reason: str) -> Figure:
    return Figure.single(float(np.mean(hits)), len(hits)) if hits else Figure.none(reason)
