"""Whose face to put on: personas, stored identities, photos that are baked on the spot, and painted faces."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from livefusion.core.archive import read_arrays
from livefusion.core.errors import IdentityError
from livefusion.core.face import Expression, Identity, Portrait
from livefusion.core.words import did_you_mean
from livefusion.faces.embed import SAME_PERSON, Embedding
from livefusion.faces.photo import PhotoFaces
from livefusion.media.paint import may_be_painted
from livefusion.media.paths import leads_somewhere
from livefusion.media.photo import is_video, load_photo
from livefusion.media.source_files import check_source_files, source_files
from livefusion.pipeline.gate_model import Screen, no_screen
from livefusion.pipeline.paintings import is_painted, read_painting
from livefusion.pipeline.photo_check import photo_intake
from livefusion.provenance.consent import ConsentRecord, consent_from_text
from livefusion.provenance.store import IdentityStore, plain_name
from livefusion.swap.intake import Advice, Intake, judge_photo
from livefusion.swap.mesh.bake import SourcePhoto
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, VERTEX_COUNT
from livefusion.swap.mesh.coverage import skin_coverage
from livefusion.swap.mesh.identity import EXPRESSION_SIDE, ExpressionPhotos, bake_identity
from livefusion.swap.persona import PersonaLibrary
from livefusion.swap.portrait import PORTRAIT_SIDE

FILE_VERSION = 2
LEAST_COVERAGE = 0.5
"""A face with more holes than that hides nobody, and every picture with it would count as unaltered."""
EMBEDDING_SIZE = 128
_EXPRESSION, _STRENGTH = "expression_", "strength_"
_DELTA_SHAPE = (EXPRESSION_SIDE, EXPRESSION_SIDE, 3)


class IdentityLibrary:
    """Every face that can be put on: personas first, then what the user has stored."""

    def __init__(
        self,
        personas: PersonaLibrary | None = None,
        store: IdentityStore | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._personas = personas or PersonaLibrary()
        self._store = store or IdentityStore()
        self._tell = tell
        self.advice: tuple[Advice, ...] = ()
        """What could be better about the photos that were baked last."""

    @property
    def store(self) -> IdentityStore:
        """Where identities of real persons are kept."""
        return self._store

    def personas(self) -> tuple[str, ...]:
        """Names of the faces that belong to nobody."""
        return self._personas.names()

    def names(self) -> tuple[str, ...]:
        """Names for ``-s``, personas first."""
        return (*self._personas.names(), *self._store.names())

    def load(
        self,
        source: str,
        consent: str = "",
        painted: bool = False,
        *,
        preview: bool = False,
        screen: Screen = no_screen,
    ) -> Identity:
        """The identity that ``-s SOURCE`` means; left empty, the first persona.

        ``consent`` is who agreed, for a photo, a video or a folder of them; ``painted`` takes a picture as a
        painted face although it carries no mark; ``preview`` takes a photo without consent, of which only the
        slate may be shown: its ``consent`` is then an empty record. ``screen`` looks at every photo, painting
        and picture of a video that a face is made of. ``IdentityError`` if there is no such name, photo or
        consent, or a photo or painting cannot be used.
        """
        personas = self._personas.names()
        if not source or source in personas:
            return self._personas.load(source or personas[0])
        if source in (*self._store.names(), *self._store.revoked()):
            record = self._store.consent(source, date.today())
            return _read(source, self._store.face(source, record), record)
        photos = self._photos(source)
        if is_painted(source, painted):
            return read_painting(photos[0], consent, screen, preview=preview)
        if not consent and not preview:
            _refuse_without_consent(source, photos)
        own = consent_from_text(consent, photos) if consent else None
        return self._bake(Path(source).stem, photos, own, screen)

    def add(
        self, name: str, photos: Sequence[Path], consent: ConsentRecord, *, screen: Screen = no_screen
    ) -> Identity:
        """Bake photos and videos of one person and store the identity with its consent.

        ``IdentityError`` if the name is taken, a photo cannot be used, or the disk refuses. Whatever ends it
        early, Ctrl-C too, leaves nothing of it behind.
        """
        if plain_name(name) in map(plain_name, self._personas.names()):
            raise IdentityError(f"{name} is the name of a persona", "choose another name")
        self._store.require_free(name)
        identity = self._bake(name, photos, consent, screen)
        signed = self._store.keep(name, consent, _packed(identity))
        return replace(identity, consent=signed.as_report())

    def remove(self, name: str) -> None:
        """Delete a stored identity with its consent."""
        self._store.remove(name)

    def _photos(self, source: str) -> list[Path]:
        path = Path(source)
        if leads_somewhere(path):
            return source_files(path)
        hint = did_you_mean(source, self.names()) or "`livefusion identity list` shows what there is"
        raise IdentityError(f"there is no identity or photo {source}", hint)

    def _bake(
        self, name: str, files: Sequence[Path], consent: ConsentRecord | None, screen: Screen
    ) -> Identity:
        finder = PhotoFaces.from_registry()
        gathered = _Gathered()
        for path in files:
            if is_video(path):
                self._take_video(path, finder, gathered, screen)
            else:
                _take_photo(path, finder, gathered, screen)
        self.advice = tuple(gathered.advice)
        _require_one_person(files, gathered.faces)
        mean = np.mean(gathered.faces, axis=0)
        if len(gathered.photos) > 1:
            self._tell(f"making one face of {len(gathered.photos)} pictures")
        identity = bake_identity(
            gathered.photos,
            id=name,
            label=name,
            embedding=(mean / np.linalg.norm(mean)).astype(np.float32),
            consent=consent.as_report() if consent else {},
            expressions=gathered.expressions,
        )
        if identity.coverage < LEAST_COVERAGE:
            raise IdentityError(
                f"only {identity.coverage:.0%} of the face shows in {files[0].name}"
                f"{' and the others' if len(files) > 1 else ''}",
                "use a photo without hair, hands or anything else before the face",
            )
        return identity

    def _take_video(self, path: Path, finder: PhotoFaces, gathered: "_Gathered", screen: Screen) -> None:
        from livefusion.pipeline.enrolment import enrol

        found = enrol(path, finder, self._tell)
        shown = [photo for one in found.expressions.values() for photo in one.photos]
        for photo in (*found.photos, *shown):
            screen(path.name, photo.rgb)
        gathered.photos += found.photos
        gathered.expressions |= found.expressions
        gathered.faces.append(np.mean(found.embeddings, axis=0))
        gathered.advice += found.advice


@dataclass(slots=True)
class _Gathered:
    """What files give, photos and videos; ``faces`` has one embedding a file."""

    photos: list[SourcePhoto] = field(default_factory=list)
    faces: list[Embedding] = field(default_factory=list)
    expressions: dict[str, ExpressionPhotos] = field(default_factory=dict)
    advice: list[Advice] = field(default_factory=list)
    intake: Intake = field(default_factory=photo_intake)


def _take_photo(path: Path, finder: PhotoFaces, gathered: _Gathered, screen: Screen) -> None:
    rgb = load_photo(path)
    screen(path.name, rgb)
    faces = finder.find(rgb)
    gathered.advice += judge_photo(path.name, rgb, faces, gathered.intake)
    landmarks = faces[0].landmarks
    assert landmarks is not None, "find gives only faces with landmarks"
    gathered.photos.append(SourcePhoto(rgb, landmarks))
    gathered.faces.append(finder.embed(rgb, landmarks))


def _require_one_person(photos: Sequence[Path], embeddings: Sequence[npt.NDArray[np.float32]]) -> None:
    """``IdentityError`` if a photo shows somebody else than the others: a consent is that of one person."""
    if len(photos) < 2:
        return
    unit = np.stack([embedding / np.linalg.norm(embedding) for embedding in embeddings])
    others = unit.sum(axis=0) - unit
    likeness = (unit * others).sum(axis=1) / np.maximum(np.linalg.norm(others, axis=1), 1e-9)
    if likeness.min() < SAME_PERSON:
        odd = photos[int(likeness.argmin())].name
        raise IdentityError(
            f"{odd} seems to show another person than the other photos", "give photos of one person"
        )


def _refuse_without_consent(source: str, photos: Sequence[Path]) -> NoReturn:
    if may_be_painted(Path(source)):
        raise IdentityError(
            f"{source} is square and partly transparent, like a painted face that lost its mark",
            "add --painted if it is one; if it is a photo, --consent WHO",
        )
    check_source_files(photos)  # what is no photo has no face in it
    raise IdentityError(
        f"the face in {source} is put on only with the consent of its owner",
        'add --consent myself, or --consent "NAME, for PURPOSE"',
    )


def _packed(identity: Identity) -> bytes:
    """An identity file of version 2: version 1 knew of no expressions, and lacks what is said of views."""
    arrays: dict[str, Any] = {
        "version": np.array(FILE_VERSION),
        "label": np.array(identity.label),
        "texture": identity.texture,
        "shape": identity.shape,
        "views": np.array(identity.views),
        "seen": np.array(identity.seen, np.float32),
    }
    if identity.embedding is not None:
        arrays["embedding"] = identity.embedding
    if identity.portraits:
        arrays["portraits"] = np.stack([one.rgb for one in identity.portraits])
        arrays["portrait_points"] = np.stack([one.points for one in identity.portraits])
    for name, expression in identity.expressions.items():
        arrays[f"{_EXPRESSION}{name}"] = expression.delta
        arrays[f"{_STRENGTH}{name}"] = np.array([expression.rest, expression.strength], np.float32)
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _read(name: str, content: bytes, consent: ConsentRecord) -> Identity:
    try:
        arrays = read_arrays(io.BytesIO(content))
        version = int(arrays.get("version", np.array(1)))
        if version > FILE_VERSION:
            raise IdentityError(f"the identity {name} is of a newer LiveFusion", "update livefusion")
        texture = _array(arrays["texture"], np.uint8, (TEXTURE_SIZE, TEXTURE_SIZE, 4))
        embedding = arrays.get("embedding")
        return Identity(
            id=name,
            label=str(arrays["label"]),
            texture=texture,
            shape=_array(arrays["shape"], np.float32, (VERTEX_COUNT, 3)),
            embedding=None if embedding is None else _array(embedding, np.float32, (EMBEDDING_SIZE,)),
            consent=consent.as_report(),
            coverage=skin_coverage(texture[..., 3]),
            expressions=_expressions(arrays),
            views=int(arrays.get("views", np.array(0))),
            seen=float(arrays.get("seen", np.array(0))),
            portraits=_portraits(arrays),
        )
    except (OSError, EOFError, KeyError, TypeError, ValueError, BadZipFile) as error:
        raise IdentityError(f"the identity {name} is damaged", "remove it and add it anew") from error


def _array(values: npt.NDArray[Any], kind: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """The array as it is; ``ValueError`` if it is of another kind or shape, or not finite."""
    if values.dtype != kind or values.shape != shape or not np.isfinite(values).all():
        raise ValueError(f"{values.dtype} {values.shape} in place of {kind.__name__} {shape}")
    return values


def _portraits(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[Portrait, ...]:
    """Faces of photos; none in files of before there were any."""
    if "portraits" not in arrays:
        return ()
    count = len(arrays["portraits"])
    pictures = _array(arrays["portraits"], np.uint8, (count, PORTRAIT_SIDE, PORTRAIT_SIDE, 3))
    points = _array(arrays["portrait_points"], np.float32, (count, 5, 2))
    return tuple(Portrait(*pair) for pair in zip(pictures, points, strict=True))


def _expressions(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Expression]:
    found = {}
    for key in (key for key in arrays if key.startswith(_EXPRESSION)):
        name = key.removeprefix(_EXPRESSION)
        rest, full = _array(arrays[f"{_STRENGTH}{name}"], np.float32, (2,)).tolist()
        found[name] = Expression(_array(arrays[key], np.int8, _DELTA_SHAPE), full, rest)
    return found
