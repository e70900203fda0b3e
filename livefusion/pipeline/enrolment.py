"""A person from a short video: which pictures show them well, with which expression, and what is missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError
from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Box
from livefusion.faces.embed import SAME_PERSON, Embedding, cosine
from livefusion.faces.photo import PhotoFaces
from livefusion.pipeline.footage import Footage, Glimpse, Tell, watch
from livefusion.swap.intake import Advice, judge_photo
from livefusion.swap.mesh.bake import SourcePhoto
from livefusion.swap.mesh.canonical import RIGID, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.expression import BLINKS, EXPRESSIONS, ExpressionReader, strength
from livefusion.swap.mesh.identity import ExpressionPhotos
from livefusion.swap.mesh.shape import fit_pose, vertex_normals

MOST_VIEWS, MOST_OF_EXPRESSION, FEWEST_OF_EXPRESSION = 16, 6, 3
SHORTEST_SECONDS, FEWEST_PICTURES = 2.0, 8

# An expression is there above the first strength; a face is calm below the second, or hardly above what it is
# at its calmest, which differs between people, but is no longer calm above the third.
_SHOWN, _CALM, _NEVER_CALM = 0.45, 0.3, 0.5
_CALMEST_PERCENT, _ABOVE_CALMEST, _ABOVE_REST = 10, 0.15, 0.25
# Of the way to the strongest in the video: what is weaker would wash the folds out.
_NEAR_STRONGEST = 0.6
_PRESENCE = 0.8
# Degrees: beyond the first, landmarks are guessed; up to the second, faces can be told apart and show folds.
_TURNED_AWAY, _FRONTAL = 60.0, 28.0
_BIN_DEGREES = 14.0
# Of the usual sharpness of pictures with the head turned alike; over the usual score of a closed eye.
_BLURRED, _CLOSED = 0.5, 0.3
# A point of the skin whose colour is this far off is hidden; so is the face with so many of them.
_HIDDEN_COLOUR, _HIDDEN_SHARE = 38.0, 0.15
_FACING = 0.3
_SHARP_WIDTH = 192
_RIVALS_SHARE = 0.2
_EMBEDDED = 8
_CHEEK_FROM, _CHEEK_SEEN = 0.62, 0.45
_SHOW_US = {
    "smile": "smile once, so that the new face can smile like it",
    "open_mouth": "open the mouth once, so that the new face has the folds of it",
}


@dataclass(frozen=True, slots=True, eq=False)
class Enrolment:
    """What a video gives: ``photos`` of the calm face, those of expressions, embeddings, advice."""

    photos: tuple[SourcePhoto, ...]
    expressions: dict[str, ExpressionPhotos]
    embeddings: tuple[Embedding, ...]
    advice: tuple[Advice, ...]


@dataclass(slots=True, eq=False)
class _Look:
    """A glimpse with everything by which pictures are chosen."""

    glimpse: Glimpse
    yaw: float
    pitch: float
    sharp: float
    scores: npt.NDArray[np.float32]
    strengths: dict[str, float] = field(default_factory=dict)

    @property
    def turned(self) -> float:
        return float(np.hypot(self.yaw, self.pitch))

    @property
    def bin(self) -> tuple[int, int]:
        return round(self.yaw / _BIN_DEGREES), round(self.pitch / _BIN_DEGREES)


def enrol(path: Path, finder: PhotoFaces, tell: Tell) -> Enrolment:
    """Watch a video of 5 to 30 seconds and choose from it.

    ``IdentityError`` if it is too short, shows no face, several, or another person later on, or no picture is
    good enough; ``InputError`` if it cannot be read.
    """
    footage = watch(path, finder, tell)
    _require_one_face(path, footage)
    reader = ExpressionReader()
    looks = [_look(glimpse, reader) for glimpse in footage.glimpses]
    looks = _of_one_person(path, looks, finder)
    good = _unhidden(_open_eyed(_sharp(look for look in looks if _is_sure(look))))
    if len(good) < FEWEST_PICTURES:
        raise IdentityError(
            f"only {len(good)} of {footage.pictures} pictures of {path.name} show the face well",
            "film it near, in good light, without anything before it",
        )
    calm, is_calm = _calm(good)
    base = _spread(calm, MOST_VIEWS)
    expressions = _expressions(good, base)
    frontal = sorted(base, key=lambda look: look.turned)[:_EMBEDDED]
    return Enrolment(
        tuple(_photo(look, base) for look in base),
        expressions,
        tuple(finder.embed(look.glimpse.rgb, look.glimpse.landmarks) for look in frontal),
        tuple(_advice(path, good, frontal[0], is_calm, expressions)),
    )


def _require_one_face(path: Path, footage: Footage) -> None:
    if not footage.glimpses:
        raise IdentityError(f"there is no face in {path.name}", "film one face that looks at the camera")
    if footage.rivals > max(1, _RIVALS_SHARE * footage.searches):
        raise IdentityError(f"there are several faces in {path.name}", "film one person alone")
    if footage.seconds < SHORTEST_SECONDS:
        raise IdentityError(
            f"{path.name} is only {footage.seconds:.1f} s long", "film 5 to 30 seconds, or give photos"
        )


def _look(glimpse: Glimpse, reader: ExpressionReader) -> _Look:
    rigid = list(RIGID)
    rotation = fit_pose(canonical_mesh().vertices[rigid], glimpse.landmarks[rigid]).rotation
    x, y, z = rotation[:, 2]
    scores = reader(glimpse.landmarks)
    return _Look(
        glimpse,
        float(np.degrees(np.arctan2(x, z))),
        float(np.degrees(np.arctan2(y, z))),
        _sharpness(glimpse),
        scores,
        {name: strength(scores, name) for name in EXPRESSIONS},
    )


def _sharpness(glimpse: Glimpse) -> float:
    """Energy of the finest detail over that of all, of the face at a common size."""
    box = Box.around(glimpse.landmarks)
    left, top, right, bottom = (max(0, int(v)) for v in (box.x, box.y, box.right, box.bottom))
    grey = cv2.cvtColor(glimpse.rgb[top : bottom + 1, left : right + 1], cv2.COLOR_RGB2GRAY)
    factor = _SHARP_WIDTH / grey.shape[1]
    if factor < 1:
        grey = cv2.resize(grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    values = grey.astype(np.float32)
    return float(cv2.Laplacian(values, cv2.CV_32F).var() / max(float(values.var()), 1.0))


def _of_one_person(path: Path, looks: Sequence[_Look], finder: PhotoFaces) -> list[_Look]:
    """The looks of those stretches whose face is the one of the longest.

    ``IdentityError`` if a face that looks at the camera is somebody else's: a consent is one person's.
    """
    stretches: dict[int, list[_Look]] = {}
    for look in looks:
        stretches.setdefault(look.glimpse.stretch, []).append(look)
    faces = {}
    for number, members in stretches.items():
        best = min(members, key=lambda look: look.turned)
        faces[number] = (best, finder.embed(best.glimpse.rgb, best.glimpse.landmarks))
    main = max(stretches, key=lambda number: len(stretches[number]))
    kept = []
    for number, members in stretches.items():
        best, face = faces[number]
        if cosine(face, faces[main][1]) >= SAME_PERSON:
            kept += members
        elif best.turned < _FRONTAL and best.glimpse.presence >= _PRESENCE:
            raise IdentityError(
                f"{path.name} shows another person after {best.glimpse.seconds:.0f} s",
                "give a video of one person",
            )
    return kept


def _is_sure(look: _Look) -> bool:
    return look.glimpse.presence >= _PRESENCE and look.turned <= _TURNED_AWAY


def _sharp(looks: Iterable[_Look]) -> list[_Look]:
    listed = list(looks)
    usual: dict[int, list[float]] = {}
    for look in listed:
        usual.setdefault(look.bin[0], []).append(look.sharp)
    return [look for look in listed if look.sharp >= _BLURRED * float(np.median(usual[look.bin[0]]))]


def _open_eyed(looks: Sequence[_Look]) -> list[_Look]:
    if not looks:
        return []
    closed = np.array([look.scores[list(BLINKS)].mean() for look in looks])
    return [look for look, c in zip(looks, closed, strict=True) if c <= np.median(closed) + _CLOSED]


def _unhidden(looks: Sequence[_Look]) -> list[_Look]:
    """Without the pictures in which much of the skin has another colour than it usually has."""
    if not looks:
        return []
    colours = np.stack([_skin_colours(look.glimpse) for look in looks])
    known = np.stack([_facing(look.glimpse) > _FACING for look in looks])
    weight = known[..., None].astype(np.float32)
    means = (colours * weight).sum(axis=1, keepdims=True) / np.maximum(weight.sum(axis=1, keepdims=True), 1)
    colours *= means.mean(axis=0) / np.maximum(means, 1)
    off = np.abs(colours - np.median(colours, axis=0)).mean(axis=2)
    hidden = (known & (off > _HIDDEN_COLOUR)).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return [look for look, share in zip(looks, hidden, strict=True) if share <= _HIDDEN_SHARE]


def _skin_colours(glimpse: Glimpse) -> npt.NDArray[np.float32]:
    """(468, 3) colours at the vertices."""
    blur = max(1.0, glimpse.landmarks[:, 0].std() / 12)
    soft = cv2.GaussianBlur(glimpse.rgb, (0, 0), blur)
    points = np.round(glimpse.landmarks[:VERTEX_COUNT, :2]).astype(int)
    height, width = soft.shape[:2]
    colours = soft[np.clip(points[:, 1], 0, height - 1), np.clip(points[:, 0], 0, width - 1)]
    return np.asarray(colours, np.float32)


def _facing(glimpse: Glimpse) -> npt.NDArray[np.float32]:
    return np.asarray(-vertex_normals(glimpse.landmarks[:VERTEX_COUNT])[:, 2], np.float32)


def _calm(looks: Sequence[_Look]) -> tuple[list[_Look], bool]:
    """The looks without expression, and whether they deserve to be called calm."""
    is_calm = True
    calm = list(looks)
    for name in EXPRESSIONS:
        least = float(np.percentile([look.strengths[name] for look in looks], _CALMEST_PERCENT))
        is_calm = is_calm and least <= _NEVER_CALM
        calm = [look for look in calm if look.strengths[name] <= max(_CALM, least + _ABOVE_CALMEST)]
    if len(calm) >= FEWEST_PICTURES:
        return calm, is_calm
    by_strength = sorted(looks, key=lambda look: max(look.strengths.values()))
    return by_strength[: max(FEWEST_PICTURES, len(looks) // 3)], False


def _spread(looks: Sequence[_Look], most: int) -> list[_Look]:
    """The sharpest of every way the head is turned, then the second of each, and so on."""
    bins: dict[tuple[int, int], list[_Look]] = {}
    for look in sorted(looks, key=lambda look: -look.sharp * look.glimpse.width):
        bins.setdefault(look.bin, []).append(look)
    rounds = max(len(members) for members in bins.values())
    chosen = [members[index] for index in range(rounds) for members in bins.values() if index < len(members)]
    return chosen[:most]


def _expressions(looks: Sequence[_Look], base: Sequence[_Look]) -> dict[str, ExpressionPhotos]:
    found = {}
    frontal = [look for look in looks if look.turned <= _FRONTAL]
    for name in EXPRESSIONS:
        rest = float(np.median([look.strengths[name] for look in base]))
        strongest = max((look.strengths[name] for look in frontal), default=0.0)
        least = max(_SHOWN, rest + _ABOVE_REST, rest + _NEAR_STRONGEST * (strongest - rest))
        shown = [look for look in frontal if look.strengths[name] >= least]
        if len(shown) >= FEWEST_OF_EXPRESSION:
            shown = _spread(shown, MOST_OF_EXPRESSION)
            level = float(np.median([look.strengths[name] for look in shown]))
            found[name] = ExpressionPhotos([_photo(look, shown) for look in shown], level, rest)
    return found


def _photo(look: _Look, among: Sequence[_Look]) -> SourcePhoto:
    sharpest = max(other.sharp for other in among)
    return SourcePhoto(look.glimpse.rgb, look.glimpse.landmarks, look.sharp / max(sharpest, 1e-6))


def _advice(
    path: Path, looks: Sequence[_Look], best: _Look, calm: bool, expressions: Iterable[str]
) -> Iterable[Advice]:
    glimpse = best.glimpse
    face = FaceObservation(Box.around(glimpse.landmarks), glimpse.presence, landmarks=glimpse.landmarks)
    yield from judge_photo(path.name, glimpse.rgb, [face])
    facing = np.max([_facing(look.glimpse) for look in looks], axis=0)
    across = canonical_mesh().vertices[:, 0]
    reach = _CHEEK_FROM * float(np.abs(across).max())
    for side, cheek in (("right", across < -reach), ("left", across > reach)):
        if facing[cheek].mean() < _CHEEK_SEEN:
            yield Advice(path.name, f"the {side} cheek was never seen", "turn the head slowly left and right")
    if not calm:
        yield Advice(path.name, "the face is never calm", "begin with the mouth closed and no smile")
    for name, remedy in _SHOW_US.items():
        if calm and name not in expressions:
            yield Advice(path.name, f"there is no {name.replace('_', ' ')}", remedy)
