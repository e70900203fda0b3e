"""Which persona hides the performer best: each is tried on, and SFace says who the result is."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain

from livefusion.core.errors import InputError
from livefusion.core.settings import Settings
from livefusion.evaluation.figure import Figure
from livefusion.evaluation.fitting import FittingRoom
from livefusion.evaluation.identity import IdentityMeasure
from livefusion.evaluation.shots import take_shots
from livefusion.evaluation.sight import Sight
from livefusion.evaluation.view import FaceView
from livefusion.media.sources.uri import redact
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.swap.mesh.smooth import smoothed

PICTURES = 10
LEAST_SOURCE, MOST_PERFORMER = 0.50, 0.30
"""Cosines that are aimed at: to the new face at least, to the performer at most."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one persona: cosines of the result to the performer and to the persona, and the share of
    faces that SFace takes for the performer."""

    name: str
    performer: Figure
    source: Figure
    told_share: float

    @property
    def becomes(self) -> bool:
        """Whether the result is the persona."""
        return (self.source.mean or 0.0) >= LEAST_SOURCE

    @property
    def left(self) -> float:
        """What is left of the performer: the mean cosine."""
        return 1.0 if self.performer.mean is None else self.performer.mean


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Personas, the one that hides best first, and of how many pictures and faces that is told."""

    tried: tuple[Tried, ...]
    pictures: int
    faces: int

    @property
    def chosen(self) -> Tried | None:
        """The one that leaves least of the performer among those that the result becomes; None if none."""
        return next((one for one in self.tried if one.becomes), None)


def suggest(
    settings: Settings, library: IdentityLibrary, tell: Tell, *, pictures: int = PICTURES
) -> Suggestion:
    """Try every persona on some pictures of ``settings.input``; ``tell`` hears how far it is.

    Nothing of the pictures is kept. Raises what is wrong with the input; ``InputError`` if no face is seen.
    """
    tell("looking for a face")
    sight = Sight()
    with ExitStack() as stack:
        shots = stack.enter_context(closing(take_shots(settings, sight, pictures)))
        first = next(shots, None)  # before all that takes long: what is wrong with the input is known soon
        if first is None:
            raise InputError(
                f"no face is seen in {redact(settings.input)}",
                "come nearer, into the light, and look at the camera",
            )
        tell("loading the faces")
        amount = settings.swap.smoothness
        personas = {name: smoothed(library.load(name), amount) for name in library.personas()}
        measures = {name: IdentityMeasure(sight, worn.embedding) for name, worn in personas.items()}
        room = stack.enter_context(closing(FittingRoom(settings, next(iter(personas.values())))))
        seen = faces = 0
        for shot in chain([first], shots):
            worn_by = shot.faces[: settings.faces.max_faces]
            seen, faces = seen + 1, faces + len(worn_by)
            for name, identity in personas.items():
                tell(f"picture {seen} of {pictures}: {name} is tried on")
                after = room.wear(shot.picture, worn_by, identity)
                for key, was in enumerate(worn_by):
                    now = sight.mesh(after.rgb, was).landmarks
                    measures[name].add(FaceView(key, seen, shot.picture, after, was, now))
    tried = [_tried(name, measure) for name, measure in measures.items()]
    return Suggestion(tuple(sorted(tried, key=lambda one: one.left)), seen, faces)


def _tried(name: str, measure: IdentityMeasure) -> Tried:
    figures = measure.figures()
    return Tried(
        name, figures["cos_performer"], figures["cos_source"], figures["is_performer_share"].mean or 0.0
    )
