"""Which persona hides best: the pictures that are taken, the faces that are tried on, and the choice."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import livefusion.evaluation.shots as shots_module
from livefusion.core.color import ColorInfo
from livefusion.core.errors import InputError, LiveFusionError
from livefusion.core.face import Landmarks
from livefusion.core.settings import Pace, Settings
from livefusion.devices.device import Device
from livefusion.evaluation.figure import Figure
from livefusion.evaluation.fitting import FittingRoom
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.shots import Shot, spread_shots, take_shots
from livefusion.evaluation.sight import Sight
from livefusion.evaluation.still import NoisyStill
from livefusion.evaluation.suggest import LEAST_SOURCE, Suggestion, Tried, suggest
from livefusion.faces.embed import SAME_PERSON
from livefusion.pipeline.identities import IdentityLibrary

pytestmark = pytest.mark.unit

MEDIA = Path("/work/shared/media")
URI = "performer:?size=320x240&face=110&seed=11&seconds=0.5"
FACE: Landmarks = np.zeros((478, 3), np.float32)


def _quiet(text: str) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def sight() -> Sight:
    return Sight()


@pytest.fixture(scope="module")
def shots(sight: Sight) -> list[Shot]:
    return list(take_shots(Settings(input=URI), sight, 3))


def _numbered(times: list[float]) -> Iterator[tuple[float, Callable[[], Picture]]]:
    for time in times:
        luma = np.full((2, 2), round(time * 10), np.uint8)
        yield time, partial(Picture, luma, np.zeros((1, 1, 2), np.uint8), ColorInfo())


TENTHS = [number / 10 for number in range(41)]


@pytest.mark.parametrize(
    ("unseen", "wanted", "taken"),
    [
        (set(), 4, [0, 10, 20, 30]),
        (set(), 9, [0, 10, 20, 30, 40]),
        ({0, 1, 2}, 4, [3, 10, 20, 30]),  # looked again a quarter of a second later
        (set(range(10, 20)), 4, [0, 22, 30, 40]),
        (set(range(41)), 4, []),
    ],
)
def test_pictures_are_spread_and_faces_are_waited_for(
    unseen: set[int], wanted: int, taken: list[int]
) -> None:
    def faces_of(picture: Picture) -> tuple[Landmarks, ...]:
        return () if int(picture.luma[0, 0]) in unseen else (FACE,)

    found = spread_shots(_numbered(TENTHS), faces_of, 1.0, wanted)
    assert [int(shot.picture.luma[0, 0]) for shot in found] == taken


def test_the_performer_is_seen_in_each_picture(shots: list[Shot]) -> None:
    assert [len(shot.faces) for shot in shots] == [1, 1, 1]
    assert shots[0].picture.changed_from(shots[2].picture).any()  # not the same one again


def test_a_photo_is_one_picture(shots: list[Shot], sight: Sight, tmp_path: Path) -> None:
    odd = shots[0].picture.rgb[:-1, :-1]
    Image.fromarray(odd).save(tmp_path / "me.png")
    (shot,) = take_shots(Settings(input=str(tmp_path / "me.png")), sight, 5)
    assert shot.picture.luma.shape == (238, 318)
    assert np.abs(shot.faces[0][:, :2] - shots[0].faces[0][:, :2]).mean() < 2
    assert np.abs(shot.picture.rgb.astype(int) - odd[:238, :318]).mean() < 4
    Image.new("RGB", (64, 64)).save(tmp_path / "dark.png")
    assert not list(take_shots(Settings(input=str(tmp_path / "dark.png")), sight, 5))


def test_a_camera_is_looked_at_for_some_seconds_and_let_go(
    shots: list[Shot], sight: Sight, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Camera(NoisyStill):
        closed = 0

        def close(self) -> None:
            Camera.closed += 1

    def opened(locator: object, device: Device, settings: Settings, pace: Pace) -> Camera:
        assert pace is Pace.REALTIME
        return Camera(shots[0].picture, 300, device)

    monkeypatch.setattr(shots_module, "open_source", opened)
    taken = take_shots(Settings(input="camera:0"), sight, 4)
    assert len(next(taken).faces) == 1
    assert not Camera.closed
    assert len(list(taken)) == 3
    assert Camera.closed == 1
    early = take_shots(Settings(input="camera:0"), sight, 4)
    next(early)
    early.close()
    assert Camera.closed == 2


@pytest.mark.parametrize("uri", ["webrtc:", "udp://127.0.0.1:5000", "nowhere.mp4", "nowhere.jpg"])
def test_what_cannot_be_looked_at(uri: str, sight: Sight) -> None:
    with pytest.raises(LiveFusionError):
        next(take_shots(Settings(input=uri), sight, 3))


def test_only_the_face_changes_and_nothing_is_remembered(shots: list[Shot]) -> None:
    library = IdentityLibrary()
    noor, alex = library.load("noor"), library.load("alex")
    picture, faces = shots[0].picture, shots[0].faces
    room = FittingRoom(Settings(), noor)
    alone = room.wear(picture, faces, noor)
    other = room.wear(picture, faces, alex)
    room.wear(shots[2].picture, shots[2].faces, alex)
    again = room.wear(picture, faces, noor)
    room.close()
    changed = alone.changed_from(picture)
    assert 0.02 < changed.mean() < 0.4
    assert not changed[:, :40].any()  # beside the face; no badge, no watermark
    assert other.changed_from(alone).any()
    difference = np.abs(again.luma.astype(int) - alone.luma)  # grain differs from picture to picture
    assert difference.mean() < 0.5


def test_the_performer_gets_a_suggestion_that_follows_the_settings() -> None:
    told: list[str] = []
    library = IdentityLibrary()
    found = suggest(Settings(input=URI), library, told.append, pictures=3)
    assert {one.name for one in found.tried} == set(library.personas())
    assert (found.pictures, found.faces) == (3, 3)
    assert [one.left for one in found.tried] == sorted(one.left for one in found.tried)
    assert found.chosen is not None
    assert found.chosen.left < SAME_PERSON
    assert any(text.startswith("picture 3 of 3") for text in told)
    less = Settings.model_validate({"input": URI, "swap": {"opacity": 0.6}})
    half = suggest(less, library, _quiet, pictures=1)
    assert min(one.left for one in half.tried) > found.chosen.left  # the settings count


def test_no_face_is_an_error(tmp_path: Path) -> None:
    Image.new("RGB", (64, 64)).save(tmp_path / "dark.png")
    with pytest.raises(InputError, match="no face is seen"):
        suggest(Settings(input=str(tmp_path / "dark.png")), IdentityLibrary(), _quiet)


def _tried(name: str, left: float, source: float) -> Tried:
    return Tried(name, Figure.of([left]), Figure.of([source], worst="min"), 0.0)


@pytest.mark.parametrize(
    ("tried", "chosen"),
    [
        ([("a", 0.1, 0.7), ("b", 0.2, 0.9)], "a"),
        ([("a", 0.1, LEAST_SOURCE - 0.01), ("b", 0.2, LEAST_SOURCE), ("c", 0.3, 0.9)], "b"),
        ([("a", 0.1, 0.3), ("b", 0.2, 0.4)], None),
    ],
)
def test_the_choice_leaves_least_and_becomes_the_persona(
    tried: list[tuple[str, float, float]], chosen: str | None
) -> None:
    found = Suggestion(tuple(_tried(*one) for one in tried), 1, 1).chosen
    assert (found.name if found else None) == chosen


@pytest.mark.skipif(not MEDIA.is_dir(), reason="the clips are not here")
@pytest.mark.parametrize("clip", ["eat.mkv", "head-pose-face-detection-male.gif"])
def test_a_clip_of_a_person_gets_a_better_face_than_the_first(clip: str) -> None:
    library = IdentityLibrary()
    found = suggest(Settings(input=str(MEDIA / clip)), library, _quiet, pictures=4)
    assert found.chosen is not None
    first = next(one for one in found.tried if one.name == library.personas()[0])
    assert found.chosen.left < first.left - 0.02
