"""A face from a video: what is taken of it, what is refused, and what is advised."""

import io
import os
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from livefusion.core.errors import IdentityError, InputError, LiveFusionError
from livefusion.core.geometry import Size
from livefusion.faces.photo import PhotoFaces
from livefusion.media.photo import is_video, load_photo
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_photo import load_performer_photos
from livefusion.pipeline import enrolment as enrolment_module
from livefusion.pipeline.enrolment import Enrolment, enrol
from livefusion.pipeline.footage import pictures
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.store import IdentityStore
from livefusion.swap.mesh.bake import SourcePhoto
from livefusion.swap.mesh.identity import ExpressionPhotos
from livefusion.testing.media import ClipFormat, write_clip
from livefusion.testing.performer_clip import render_scene

pytestmark = pytest.mark.media

SIZE = Size(480, 360)
RATE = Fraction(6)
OPTIONS = PerformerOptions(size=SIZE, face=230, seconds=3.0, fps=RATE, grain=1, seed=3)
# ISO 14496-12, for a picture that is stored turned by 90° clockwise.
TURNED = (0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of clips of the performer."""
    folder = tmp_path_factory.mktemp("clips")
    render_scene(folder / "good.mp4", OPTIONS)
    render_scene(folder / "two.mp4", replace(OPTIONS, faces=2, face=120))
    good = [rgb for rgb, _, _ in pictures(folder / "good.mp4")]
    other, rows = load_performer_photos()[1], SIZE.height
    person = np.where(other.alpha[..., None] > 0, other.rgb, 120).astype(np.uint8)
    person = cv2.resize(person, (SIZE.width, rows * person.shape[0] // person.shape[1]))[:rows]
    person = cv2.copyMakeBorder(person, 0, rows - person.shape[0], 0, 0, cv2.BORDER_REPLICATE)
    _write(folder / "short.mp4", good[:6])
    _write(folder / "noise.mp4", [np.full_like(good[0], 90)] * 18)
    _write(folder / "changed.mp4", [*good, *([person] * 8)])
    _write(
        folder / "turned.mp4", [np.rot90(rgb) for rgb in good], ClipFormat(fps=RATE, display_matrix=TURNED)
    )
    _write(folder / "unmarked.mp4", [np.rot90(rgb) for rgb in good])
    content = (folder / "good.mp4").read_bytes()
    (folder / "broken.mp4").write_bytes(content[: len(content) // 3])
    (folder / "text.mp4").write_text("no video")
    return folder


def _write(path: Path, rows: list[np.ndarray], form: ClipFormat | None = None) -> None:
    form = replace(form or ClipFormat(fps=RATE), codec="libx264", options={"qp": "10"})
    frames = [av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24") for rgb in rows]
    write_clip(path, [frame.reformat(format="yuv420p") for frame in frames], form)


@pytest.fixture(scope="module")
def finder() -> PhotoFaces:
    return PhotoFaces.from_registry()


def _silent(_text: str) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def good(clips: Path, finder: PhotoFaces) -> Enrolment:
    return enrol(clips / "good.mp4", finder, _silent)


def test_a_video_gives_several_views_of_one_person(good: Enrolment, finder: PhotoFaces) -> None:
    assert len(good.photos) >= enrolment_module.FEWEST_PICTURES
    assert all(0 < photo.merit <= 1 for photo in good.photos)
    rgb = load_performer_photos()[0].rgb
    face = finder.find(rgb)[0]
    assert face.landmarks is not None
    own = finder.embed(rgb, face.landmarks)
    assert min(float(own @ embedding) for embedding in good.embeddings) > 0.5


@pytest.mark.parametrize("clip", ["turned.mp4", "unmarked.mp4"])
def test_a_turned_video_gives_the_same(good: Enrolment, clips: Path, finder: PhotoFaces, clip: str) -> None:
    turned = enrol(clips / clip, finder, _silent)
    rows, columns = turned.photos[0].rgb.shape[:2]
    assert (rows > columns) == (clip == "turned.mp4")
    assert float(np.mean(turned.embeddings, axis=0) @ np.mean(good.embeddings, axis=0)) > 0.8


@pytest.mark.parametrize(
    ("clip", "error", "words"),
    [
        ("short.mp4", IdentityError, "is only 0.8 s long"),
        ("noise.mp4", IdentityError, "there is no face"),
        ("two.mp4", IdentityError, "several faces"),
        ("changed.mp4", IdentityError, "another person"),
        ("broken.mp4", InputError, "cannot be read as a video"),
        ("text.mp4", InputError, "cannot be read as a video"),
        ("missing.mp4", InputError, "does not exist|no such"),
    ],
)
def test_videos_that_cannot_be_used(
    clips: Path, finder: PhotoFaces, clip: str, error: type[LiveFusionError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        enrol(clips / clip, finder, _silent)
    assert "\n" not in str(caught.value)


def test_progress_is_told_and_the_cheeks_that_were_not_seen(clips: Path, finder: PhotoFaces) -> None:
    told: list[str] = []
    advice = enrol(clips / "good.mp4", finder, told.append).advice
    assert told[0].startswith("good.mp4: looking for the face")
    assert told[-1].endswith("%")
    assert all(line.photo == "good.mp4" for line in advice)


def test_pictures_are_evenly_spaced_and_few(clips: Path) -> None:
    seconds = [at for _, at, _ in pictures(clips / "good.mp4")]
    assert np.allclose(np.diff(seconds), 1 / float(RATE), atol=0.01)


@pytest.mark.parametrize(
    ("name", "frames", "moves"),
    [("a.mp4", 0, True), ("a.MOV", 0, True), ("a.jpg", 0, False), ("a.gif", 3, False), ("a.gif", 30, True)],
)
def test_what_is_a_video(tmp_path: Path, name: str, frames: int, moves: bool) -> None:
    from PIL import Image

    path = tmp_path / name
    if frames:
        shades = [Image.new("L", (8, 8), 5 * shade) for shade in range(frames)]
        shades[0].save(path, save_all=True, append_images=shades[1:])
    assert is_video(path) == moves


@pytest.fixture
def library(tmp_path: Path) -> IdentityLibrary:
    return IdentityLibrary(store=IdentityStore(tmp_path / "identities"))


@pytest.fixture
def pretended(good: Enrolment, monkeypatch: pytest.MonkeyPatch) -> Enrolment:
    """An enrolment with a smile, at once."""
    photos = good.photos[:2]
    smile = {"smile": ExpressionPhotos([_warmer(photos[0])], 0.8, 0.1)}
    made = replace(good, photos=photos, expressions=smile)
    monkeypatch.setattr(enrolment_module, "enrol", lambda *_: made)
    return made


def _warmer(photo: SourcePhoto) -> SourcePhoto:
    """With a fold on one cheek."""
    rgb = photo.rgb.copy()
    x, y = np.round(photo.landmarks[205, :2]).astype(int)
    rgb[y - 6 : y + 6, x - 4 : x + 4] //= 2
    return replace(photo, rgb=rgb)


def test_an_identity_of_a_video_is_stored_with_its_expressions(
    library: IdentityLibrary, clips: Path, tmp_path: Path, pretended: Enrolment
) -> None:
    clip = clips / "good.mp4"
    library.add("ana", [clip], ConsentRecord.record("ana", "Ana", "talk", [clip]))
    found = library.load("ana")
    assert found.views == len(pretended.photos)
    assert 0.5 < found.seen <= 1
    smile = found.expressions["smile"]
    assert (smile.delta.shape, smile.delta.dtype) == ((512, 512, 3), np.int8)
    assert (smile.strength, smile.rest) == pytest.approx((0.8, 0.1))
    assert smile.delta.min() < -5
    assert (smile.delta != 0).any(axis=2).mean() < 0.3
    if os.name == "posix":
        [file] = (tmp_path / "identities" / "ana").glob("*.npz")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_old_files_are_read_and_newer_ones_are_not(library: IdentityLibrary, tmp_path: Path) -> None:
    store = IdentityStore(tmp_path / "identities")
    consent = ConsentRecord.record("ana", "Ana", "talk", [])
    texture, shape = np.zeros((1024, 1024, 4), np.uint8), np.zeros((468, 3), np.float32)
    content = io.BytesIO()
    np.savez_compressed(content, label=np.array("old"), texture=texture, shape=shape)
    store.keep("old", consent, content.getvalue())
    assert (library.load("old").views, dict(library.load("old").expressions)) == (0, {})
    content = io.BytesIO()
    np.savez_compressed(content, version=np.array(99), label=np.array("new"), texture=texture, shape=shape)
    store.keep("new", consent, content.getvalue())
    with pytest.raises(IdentityError, match="newer"):
        library.load("new")


@pytest.mark.parametrize("where", ["pipeline.identities.bake_identity", "provenance.store.write_private"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, IdentityError("the disk is full", "free it")])
def test_what_ends_an_enrolment_leaves_nothing_behind(
    library: IdentityLibrary,
    clips: Path,
    tmp_path: Path,
    pretended: Enrolment,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    error: Any,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    assert pretended.photos
    monkeypatch.setattr(f"livefusion.{where}", fail)
    clip = clips / "good.mp4"
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else IdentityError):
        library.add("ana", [clip], ConsentRecord.record("ana", "Ana", "talk", [clip]))
    assert not list((tmp_path / "identities").glob("*/*"))


def test_photos_and_a_video_of_another_are_not_mixed(
    library: IdentityLibrary, clips: Path, tmp_path: Path, pretended: Enrolment
) -> None:
    assert pretended.photos
    other = tmp_path / "other.png"
    cv2.imwrite(str(other), load_performer_photos()[1].rgb[..., ::-1])
    assert load_photo(other).shape[2] == 3
    with pytest.raises(IdentityError, match="another person"):
        library.load(str(_folder(tmp_path, other, clips / "good.mp4")), "myself")


def _folder(tmp_path: Path, *files: Path) -> Path:
    folder = tmp_path / "both"
    folder.mkdir()
    for file in files:
        (folder / file.name).write_bytes(file.read_bytes())
    return folder
