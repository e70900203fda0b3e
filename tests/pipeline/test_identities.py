"""Whose face is put on: personas, stored identities, photos."""

import io
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from livefusion.core.errors import IdentityError, InputError
from livefusion.inference.registry import ModelRegistry
from livefusion.media.paint import save_marked
from livefusion.pipeline.enrolment import Enrolment
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.photo_check import check_photos
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.store import IdentityStore
from livefusion.swap.mesh.bake import SourcePhoto
from livefusion.swap.mesh.identity import ExpressionPhotos
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.person import PersonFinder
from livefusion.swap.template import draw_template

pytestmark = pytest.mark.media

Damages = dict[str, Callable[[np.ndarray], np.ndarray] | None]

PHOTO = ModelRegistry.load().folder / "performer" / "first.webp"


@pytest.fixture
def library(tmp_path: Path) -> IdentityLibrary:
    return IdentityLibrary(store=IdentityStore(tmp_path / "identities"))


def consent(until: date | None = None) -> ConsentRecord:
    return ConsentRecord.record("ana", "Ana Lima", "my talk", [PHOTO], until=until)


def test_the_first_persona_is_what_is_put_on_by_default(library: IdentityLibrary) -> None:
    first = library.names()[0]
    assert library.load("").id == library.load(first).id == first
    assert library.load("").consent is None


def test_a_photo_is_stored_and_found_again(library: IdentityLibrary) -> None:
    added = library.add("ana", [PHOTO], consent())
    found = library.load("ana")
    assert library.names()[-1] == "ana"
    for name in ("texture", "shape", "embedding"):
        assert np.array_equal(getattr(found, name), getattr(added, name))
    assert found.consent is not None
    assert found.consent["given_by"] == "Ana Lima"
    assert np.isclose(np.linalg.norm(found.embedding), 1, atol=1e-5)
    library.remove("ana")
    with pytest.raises(IdentityError):
        library.load("ana")


def test_a_photo_needs_a_consent(library: IdentityLibrary) -> None:
    with pytest.raises(IdentityError, match="consent"):
        library.load(str(PHOTO))
    baked = library.load(str(PHOTO), "myself")
    assert baked.consent is not None
    assert baked.consent["given_by"] == "myself"


def test_a_consent_that_ran_out_is_not_one(library: IdentityLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    library.add("ana", [PHOTO], consent(until=date.today()))

    class Tomorrow(date):
        @classmethod
        def today(cls) -> date:
            return date.today() + timedelta(days=1)

    monkeypatch.setattr("livefusion.pipeline.identities.date", Tomorrow)
    with pytest.raises(IdentityError, match="ran out"):
        library.load("ana")


def test_a_persona_keeps_its_name(library: IdentityLibrary) -> None:
    with pytest.raises(IdentityError, match="persona"):
        library.add(library.names()[0], [PHOTO], consent())


def test_a_damaged_identity_is_told_in_one_line(library: IdentityLibrary, tmp_path: Path) -> None:
    library.add("ana", [PHOTO], consent())
    [face] = (tmp_path / "identities" / "ana").glob("*.npz")
    for damage in (b"", b"PK\x03\x04 no archive", face.read_bytes()[:1000]):
        face.write_bytes(damage)
        with pytest.raises(IdentityError, match="changed") as caught:
            library.load("ana")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive"])
def test_what_is_no_face_is_damaged(library: IdentityLibrary, content: bytes) -> None:
    library._store.keep("ana", consent(), content)
    with pytest.raises(IdentityError, match="damaged"):
        library.load("ana")


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("texture", lambda texture: texture[:512]),
        ("texture", lambda texture: texture.astype(np.float32)),
        ("shape", lambda shape: shape[:400]),
        ("shape", lambda shape: shape * np.float32(np.nan)),
        ("embedding", lambda embedding: embedding[:64]),
        ("version", lambda version: np.stack([version, version])),
        ("expression_smile", lambda _none: np.zeros((512, 512, 3), np.int8)),
    ],
)
def test_an_identity_of_another_form_is_damaged(
    library: IdentityLibrary, tmp_path: Path, part: str, damage: Callable[[np.ndarray], np.ndarray]
) -> None:
    write_face(library, {part: damage})
    with pytest.raises(IdentityError, match="damaged"):
        library.load("ana")


def test_an_identity_of_the_first_version_is_read(library: IdentityLibrary, tmp_path: Path) -> None:
    dropped: Damages = dict.fromkeys(("version", "views", "seen"))
    write_face(library, dropped)
    found = library.load("ana")
    assert (found.views, found.seen, dict(found.expressions)) == (0, 0.0, {})


@pytest.mark.parametrize(("kept", "coverage"), [(1.0, 1.0), (0.25, 0.25)])
def test_what_the_holes_of_a_stored_face_show_is_known(
    library: IdentityLibrary, tmp_path: Path, kept: float, coverage: float
) -> None:
    def thin(texture: np.ndarray) -> np.ndarray:
        alpha = np.round(face_mask() * 255 * kept).astype(np.uint8)
        return np.dstack([texture[..., :3], alpha])

    write_face(library, {"texture": thin})
    assert library.load("ana").coverage == pytest.approx(coverage, abs=0.01)


def write_face(library: IdentityLibrary, damages: Damages) -> None:
    """An identity ana whose file has the named arrays changed, or left out."""
    persona = library.load("")
    arrays = {
        "version": np.array(2),
        "label": np.array("ana"),
        "texture": persona.texture,
        "shape": persona.shape,
        "embedding": persona.embedding,
        "views": np.array(1),
        "seen": np.array(0.5, np.float32),
    }
    for name, damage in damages.items():
        arrays |= {name: damage(arrays.get(name)) if damage else None}
    content = io.BytesIO()
    np.savez(content, **{name: array for name, array in arrays.items() if array is not None})
    library._store.keep("ana", consent(), content.getvalue())


def test_a_photo_that_shows_too_little_of_the_face_is_refused(
    library: IdentityLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PersonFinder, "share", lambda _finder, _photo: np.full((1024, 1024), 0.3, np.float32))
    with pytest.raises(IdentityError, match="of the face shows in first"):
        library.add("ana", [PHOTO], consent())
    assert "ana" not in library.names()


def test_a_file_that_is_no_photo_loses_none_of_the_others(tmp_path: Path) -> None:
    text, film = tmp_path / "text.jpg", tmp_path / "film.mp4"
    text.write_text("no photo")
    film.write_bytes(b"")
    checked = check_photos([text, PHOTO, film])
    assert checked[0].path == PHOTO
    assert checked[0].usable
    assert ["not an image" in checked[1].refusal, "is a video" in checked[2].refusal] == [True, True]


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("nobody", IdentityError, "no identity or photo"),
        ("x" * 300, IdentityError, "no identity or photo"),
        ("empty-folder", InputError, "no photo"),
        ("noise.png", IdentityError, "no face"),
        ("text.jpg", InputError, "not an image"),
    ],
)
def test_sources_that_are_none(
    library: IdentityLibrary,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "text.jpg").write_text("no picture")
    noise = np.random.default_rng(3).integers(0, 255, (300, 300, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    with pytest.raises(error, match=words):
        library.load(source, "myself")


def test_photos_of_two_people_are_not_mixed_into_one_face(library: IdentityLibrary, tmp_path: Path) -> None:
    with Image.open(PHOTO) as photo:
        photo.convert("RGB").rotate(7).save(tmp_path / "tilted.png")
    other = PHOTO.with_name("second.webp")
    assert library.add("ana", [PHOTO, tmp_path / "tilted.png"], consent()).id == "ana"
    with pytest.raises(IdentityError, match=r"second\.webp seems to show another person"):
        library.add("both", [PHOTO, tmp_path / "tilted.png", other], consent())
    assert "both" not in library.names()


@pytest.mark.parametrize(("name", "says"), [("../ana", "cannot be the name"), ("ana", "already an identity")])
def test_a_name_that_cannot_be_had_is_known_before_the_work(
    library: IdentityLibrary, tmp_path: Path, name: str, says: str
) -> None:
    library.add("ana", [PHOTO], consent())
    with pytest.raises(IdentityError, match=says):
        library.add(name, [tmp_path / "never-read.png"], consent())


def painting(path: Path, *, marked: bool) -> str:
    rgba = np.full((200, 200, 4), (10, 200, 30, 255), np.uint8)
    rgba[:20] = 0
    if marked:
        save_marked(path, rgba)
    else:
        Image.fromarray(rgba).save(path)
    return str(path)


def test_a_marked_painting_needs_neither_face_nor_consent(library: IdentityLibrary, tmp_path: Path) -> None:
    identity = library.load(painting(tmp_path / "cat.png", marked=True))
    assert identity.painted
    assert (identity.id, identity.consent, identity.embedding) == ("cat", None, None)


def test_a_painting_without_its_mark_has_to_be_called_one(library: IdentityLibrary, tmp_path: Path) -> None:
    source = painting(tmp_path / "cat.png", marked=False)
    with pytest.raises(IdentityError, match="lost its mark") as caught:
        library.load(source)
    assert "--painted" in str(caught.value)
    assert library.load(source, painted=True).painted


@pytest.fixture
def disguised(library: IdentityLibrary, tmp_path: Path) -> str:
    """A real face, laid out like a painting, with the mark of one."""
    texture = library.load(str(PHOTO), "myself").texture
    save_marked(tmp_path / "cat.png", np.ascontiguousarray(texture))
    return str(tmp_path / "cat.png")


@pytest.mark.parametrize("how", ["laid out", "as it is", "nearly transparent"])
def test_a_photo_that_is_passed_off_as_a_painting_needs_a_consent(
    library: IdentityLibrary, disguised: str, tmp_path: Path, how: str
) -> None:
    rgba = np.array(Image.open(disguised if how != "as it is" else PHOTO).convert("RGBA"))
    if how == "nearly transparent":
        rgba[..., 3] //= 4
    source = str(tmp_path / "dog.png")
    save_marked(Path(source), rgba)
    with pytest.raises(IdentityError, match="only with the consent"):
        library.load(source)
    with pytest.raises(IdentityError, match="only with the consent"):
        library.load(source, painted=True)
    assert library.load(source, preview=True).consent == {}
    agreed = library.load(source, "Ana Lima, for my talk")
    assert agreed.painted
    assert agreed.consent is not None
    assert agreed.consent["given_by"] == "Ana Lima"


def test_all_that_a_face_is_made_of_is_looked_at(
    library: IdentityLibrary, disguised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, rgb: np.ndarray) -> None:
        assert (rgb.ndim, rgb.dtype) == (3, np.uint8)
        raise IdentityError(f"the gate refuses {name}")

    def enrolled(path: Path, *_: object) -> Enrolment:
        calm, smile = np.zeros((8, 8, 3), np.uint8), np.ones((8, 8, 3), np.uint8)
        points = np.zeros((478, 3), np.float32)
        expressions = {"smile": ExpressionPhotos([SourcePhoto(smile, points)], 1.0)}
        return Enrolment((SourcePhoto(calm, points),), expressions, (), ())

    def refuse_smiles(name: str, rgb: np.ndarray) -> None:
        if rgb.min() == 1:
            refuse(name, rgb)

    monkeypatch.setattr("livefusion.pipeline.enrolment.enrol", enrolled)
    for source in (str(PHOTO), disguised, "clip.mp4"):
        Path(tmp_path / "clip.mp4").touch()
        monkeypatch.chdir(tmp_path)
        with pytest.raises(IdentityError, match=f"the gate refuses {Path(source).name}"):
            library.load(source, "myself", screen=refuse)
    with pytest.raises(IdentityError, match=r"the gate refuses clip\.mp4"):
        library.load("clip.mp4", "myself", screen=refuse_smiles)
    with pytest.raises(IdentityError, match="the gate refuses"):
        library.add("ana", [PHOTO], consent(), screen=refuse)
    assert "ana" not in library.names()


def test_an_opaque_photo_stays_a_photo(library: IdentityLibrary) -> None:
    with pytest.raises(IdentityError, match="consent"):
        library.load(str(PHOTO))


def test_the_bare_template_is_not_put_on(library: IdentityLibrary, tmp_path: Path) -> None:
    save_marked(tmp_path / "face.png", draw_template(256))
    with pytest.raises(IdentityError, match="template as it is"):
        library.load(str(tmp_path / "face.png"))


def test_a_name_goes_before_a_painting_of_that_name(
    library: IdentityLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    painting(tmp_path / "x.png", marked=True)
    (tmp_path / "x.png").rename(tmp_path / "alex")
    monkeypatch.chdir(tmp_path)
    assert not library.load("alex").painted
    assert library.load("./alex").painted
