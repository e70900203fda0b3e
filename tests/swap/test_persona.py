"""The personas that ship, and lists and files that are not what they should be."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from livefusion.core.errors import IdentityError, ModelError
from livefusion.core.face import Identity
from livefusion.faces.embed import SAME_PERSON
from livefusion.faces.photo import PhotoFaces
from livefusion.inference.registry import find_models_folder
from livefusion.media.photo import load_photo
from livefusion.swap.persona import PersonaLibrary, pack_persona, unpack_persona

pytestmark = pytest.mark.unit

NAMES = PersonaLibrary().names()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "personas"
    shutil.copytree(find_models_folder() / "personas", folder)
    return folder


def test_there_are_several_and_the_first_is_the_default() -> None:
    assert NAMES == ("noor", "alex", "robin", "sam", "kai", "max", "jo")


@pytest.mark.parametrize("name", NAMES)
def test_a_persona_is_what_its_entry_says(name: str) -> None:
    entry = PersonaLibrary().entry(name)
    content = entry.path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry.sha256
    assert len(content) < 600_000
    assert entry.licence == "MIT"
    assert len(set(entry.contributors)) >= 6
    assert entry.max_cosine < 0.363


def test_no_persona_is_like_another_or_like_the_performers() -> None:
    embeddings = [PersonaLibrary().load(name).embedding for name in NAMES]
    faces = PhotoFaces.from_registry()
    for photo in sorted((find_models_folder() / "performer").glob("*.webp")):
        rgb = load_photo(photo)
        landmarks = faces.find(rgb)[0].landmarks
        assert landmarks is not None
        embeddings.append(faces.embed(rgb, landmarks))
    unit = np.stack([embedding for embedding in embeddings if embedding is not None])
    assert len(unit) == len(NAMES) + 2
    alike = unit @ unit.T
    alike[-2:, -2:] = 0  # the second performer is the first one in disguise
    np.fill_diagonal(alike, 0)
    assert alike.max() < SAME_PERSON


@pytest.mark.parametrize("name", NAMES)
def test_a_persona_is_a_whole_identity(name: str) -> None:
    persona = PersonaLibrary().load(name)
    assert persona.id == name
    assert persona.consent is None
    assert persona.texture.shape == (1024, 1024, 4)
    assert persona.texture[..., 3].max() == 255
    assert persona.shape.shape == (468, 3)
    assert persona.embedding is not None
    assert float(np.linalg.norm(persona.embedding)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_persona_is_symmetric(name: str) -> None:
    texture = PersonaLibrary().load(name).texture[..., :3].astype(int)
    assert np.abs(texture - texture[:, ::-1]).mean() < 2.5


def test_personas_are_different_people() -> None:
    library = PersonaLibrary()
    noor, robin = library.load("noor").embedding, library.load("robin").embedding
    assert noor is not None
    assert robin is not None
    assert float(noor @ robin) < 0.6


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(IdentityError, match="alex"):
        PersonaLibrary().load("alix")


def test_packing_keeps_a_face(identity: Identity) -> None:
    embedding = np.full(128, 128**-0.5, np.float32)
    whole = Identity(identity.id, identity.label, identity.texture, identity.shape, embedding)
    again = unpack_persona(pack_persona(whole), "grey", "Grey")
    assert np.abs(again.texture.astype(int) - whole.texture).max() <= 2
    np.testing.assert_array_equal(again.shape, whole.shape)
    with pytest.raises(ValueError, match="embedding"):
        pack_persona(identity)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no list of personas"),
        ("[[persona", "not valid TOML"),
        ('schema = "other/1"', "schema"),
        ('schema = "livefusion.personas/1"', "not valid"),
        ('schema = "livefusion.personas/1"\npersona = []', "empty"),
        ('schema = "livefusion.personas/1"\n[[persona]]\nname = "x"', "not valid"),
    ],
)
def test_a_bad_list(copied: Path, content: str | None, said: str) -> None:
    (copied / "personas.toml").unlink()
    if content is not None:
        (copied / "personas.toml").write_text(content)
    with pytest.raises(ModelError, match=said):
        PersonaLibrary(copied)


def test_a_damaged_or_missing_file(copied: Path) -> None:
    file = copied / "noor.npz"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(ModelError, match="damaged"):
        PersonaLibrary(copied).load("noor")
    file.unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        PersonaLibrary(copied).load("noor")


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04broken"])
def test_what_is_no_persona_file(content: bytes) -> None:
    with pytest.raises(ModelError, match="not a persona file"):
        unpack_persona(content, "x", "X")
