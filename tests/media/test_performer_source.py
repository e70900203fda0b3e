import threading
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from livefusion.core.errors import InputError, ModelError
from livefusion.core.events import Eos
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import Pace
from livefusion.core.timing import NANOSECONDS, SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.sources import performer_photo
from livefusion.media.sources.performer import PerformerSource
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.runtime.stage import StageContext

pytestmark = pytest.mark.media

SMALL = "performer:?size=320x180&face=60"


class JumpingClock:
    """Every wait takes exactly as long as it may."""

    def __init__(self) -> None:
        self.time_ns = 5 * NANOSECONDS

    def now_ns(self) -> int:
        return self.time_ns

    def wait(self, condition: object, timeout_ns: int | None) -> bool:
        assert timeout_ns is not None
        self.time_ns += timeout_ns
        return False


def opened(uri: str, pace: Pace = Pace.FAST, duration: float | None = None) -> PerformerSource:
    source = PerformerSource(uri, CpuDevice(), pace=pace, duration=duration)
    source.open(StageContext("source", JumpingClock()))
    return source


def frames_of(source: PerformerSource, most: int = 100) -> list[Frame]:
    frames = []
    while len(frames) < most and isinstance(item := source.read(), Frame):
        frames.append(item)
    return frames


def picture(uri: str, frame: int) -> tuple[np.ndarray, np.ndarray]:
    options = PerformerOptions.parse(uri)
    size = options.size
    luma = np.zeros((size.height, size.width), np.uint8)
    chroma = np.zeros((size.height // 2, size.width // 2, 2), np.uint8)
    PerformerScene(options).draw(frame, luma, chroma)
    return luma, chroma


def test_frames_carry_time_and_format() -> None:
    source = opened(f"{SMALL}&fps=30000/1001", Pace.REALTIME, duration=0.2)
    frames = frames_of(source)
    assert [frame.seq for frame in frames] == list(range(6))
    assert [frame.ts.pts for frame in frames] == list(range(6))
    assert {frame.ts.time_base for frame in frames} == {Fraction(1001, 30000)}
    steps = np.diff([frame.captured_ns for frame in frames])
    np.testing.assert_allclose(steps, NANOSECONDS * 1001 / 30000, atol=1)
    assert {(frame.size, frame.color, frame.source_id) for frame in frames} == {
        (source.format.size, source.format.color, "source")
    }
    assert isinstance(source.read(), Eos)
    assert source.format.frames == 6


def test_size_and_rate_of_the_settings_win() -> None:
    source = PerformerSource(SMALL, CpuDevice(), size=Size(640, 360), fps=Fraction(50))
    assert (source.format.size, source.format.fps) == (Size(640, 360), 50)


@pytest.mark.parametrize("uri", ["performer:?noise=1", "performer:?size=99x99"])
def test_a_wrong_address_is_refused_before_anything_is_opened(uri: str) -> None:
    with pytest.raises(InputError):
        PerformerSource(uri, CpuDevice())


def test_interrupt_ends_a_waiting_read_and_all_that_follow() -> None:
    source = PerformerSource(SMALL, CpuDevice(), pace=Pace.REALTIME)
    source.open(StageContext("source", SystemClock()))
    frames: list[Frame] = []
    reading = threading.Thread(target=lambda: frames.extend(frames_of(source, most=10_000)))
    reading.start()
    source.interrupt()
    reading.join(10)
    assert not reading.is_alive()
    assert isinstance(source.read(), Eos)


def test_a_closed_source_can_be_opened_again() -> None:
    source = opened(SMALL, duration=0.1)
    first = [frame.buffer.luma.copy() for frame in frames_of(source)]
    source.close()
    source.open(StageContext("source", JumpingClock()))
    again = [frame.buffer.luma.copy() for frame in frames_of(source)]
    assert len(first) == len(again) == 3
    assert all(map(np.array_equal, first, again))


def test_a_picture_copied_to_the_device_is_the_one_drawn_there() -> None:
    drawn = []
    for staged in (False, True):
        source = PerformerSource(SMALL, CpuDevice(), pace=Pace.FAST, duration=0.1, staged=staged)
        source.open(StageContext("source", JumpingClock()))
        drawn.append([(frame.buffer.luma, frame.buffer.chroma) for frame in frames_of(source)])
    for direct, copied in zip(*drawn, strict=True):
        assert all(map(np.array_equal, direct, copied))


def test_the_same_seed_gives_the_same_pixels_and_another_one_others() -> None:
    same = [picture(f"{SMALL}&seed=5", 9) for _ in range(2)]
    assert all(map(np.array_equal, *same))
    other = picture(f"{SMALL}&seed=6", 9)
    assert not np.array_equal(same[0][0], other[0])


def test_the_loop_closes_pixel_for_pixel() -> None:
    uri = f"{SMALL}&loop=1&occluder=bar"
    assert all(map(np.array_equal, picture(uri, 4), picture(uri, 34)))


def test_truth_is_where_the_picture_moves() -> None:
    """The nose is darker round the nostrils than above: follow it through the turn by correlation."""
    options = PerformerOptions.parse("performer:?size=640x360&face=200&grain=0&expression=0")
    scene = PerformerScene(options)
    luma, chroma = np.zeros((360, 640), np.uint8), np.zeros((180, 320, 2), np.uint8)

    def draw(frame: int) -> tuple[np.ndarray, np.ndarray]:
        scene.draw(frame, luma, chroma)
        return luma.copy(), scene.truth(frame)[0].landmarks[4, :2]

    start, nose = draw(0)
    for frame in (2, 4, 6):
        x, y = np.rint(nose).astype(int)
        patch = start[y - 20 : y + 21, x - 20 : x + 21]
        start, moved = draw(frame)
        score = cv2.matchTemplate(start, patch, cv2.TM_CCOEFF_NORMED)
        found = np.unravel_index(score.argmax(), score.shape)
        assert np.hypot(found[1] + 20 - x - (moved - nose)[0], found[0] + 20 - y - (moved - nose)[1]) < 1.6
        nose = moved


def test_only_the_head_moves() -> None:
    options = PerformerOptions.parse("performer:?size=640x360&face=100&grain=0")
    scene = PerformerScene(options)
    pictures = []
    for frame in (0, 40):
        luma, chroma = np.zeros((360, 640), np.uint8), np.zeros((180, 320, 2), np.uint8)
        scene.draw(frame, luma, chroma)
        pictures.append(luma)
    changed = pictures[0] != pictures[1]
    box = scene.truth(0)[0].box.grown(3.2)
    ys, xs = np.nonzero(changed)
    assert changed.any()
    assert xs.min() >= box.x
    assert xs.max() <= box.right
    assert ys.min() >= box.y
    assert ys.max() <= box.bottom


def test_people_who_cross_overlap_and_the_nearer_hides_the_other() -> None:
    scene = PerformerScene(PerformerOptions.parse("performer:?size=640x360&face=90&crossing=1&loop=8"))
    truths = [scene.truth(frame) for frame in range(0, 240, 6)]
    assert all([face.person for face in faces] == [0, 1] for faces in truths)
    assert max(first.box.iou(second.box) for first, second in truths) > 0.3
    assert min(first.box.iou(second.box) for first, second in truths) == 0
    assert max(second.hidden.mean() for _, second in truths) > 0.9
    assert not any(first.hidden.any() for first, _ in truths)
    order = {first.box.x < second.box.x for first, second in truths}
    assert order == {True, False}


@pytest.mark.parametrize("kind", ["hand", "bar"])
def test_the_occluder_is_where_its_alpha_says(kind: str) -> None:
    uri = "performer:?size=640x360&face=100&grain=0"
    scene = PerformerScene(PerformerOptions.parse(f"{uri}&occluder={kind}"))
    frame = max(range(0, 180, 10), key=lambda n: scene.truth(n)[0].hidden.mean())
    face = scene.truth(frame)[0]
    assert 0.05 < face.hidden.mean() < 0.9
    assert face.occluder is not None
    with_it, without = picture(f"{uri}&occluder={kind}", frame)[0], picture(uri, frame)[0]
    ys, xs = np.nonzero(with_it != without)
    alpha = face.occluder.alpha
    assert (alpha[ys - face.occluder.y, xs - face.occluder.x] > 0).all()


def test_a_cut_changes_place_and_room() -> None:
    uri = "performer:?size=320x180&face=60&grain=0&cut=10"
    scene = PerformerScene(PerformerOptions.parse(uri))
    before, after = scene.truth(9)[0].box, scene.truth(10)[0].box
    assert before.iou(after) < 0.2
    assert np.mean(picture(uri, 9)[0] != picture(uri, 10)[0]) > 0.5
    assert scene.truth(20)[0].box.iou(before) > 0.5


def test_faces_stay_in_the_picture_and_are_as_tall_as_asked_for() -> None:
    for face, size in ((24, "320x180"), (144, "320x180"), (170, "1280x720")):
        scene = PerformerScene(PerformerOptions.parse(f"performer:?size={size}&face={face}"))
        boxes = [scene.truth(frame)[0].box for frame in range(0, 300, 10)]
        whole = Box(0, 0, scene.options.size.width, scene.options.size.height)
        assert all(box.intersection(whole).area > 0.99 * box.area for box in boxes)
        assert np.median([box.height for box in boxes]) == pytest.approx(face, rel=0.08)


def test_a_damaged_photo_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "performer"
    folder.mkdir()
    source = performer_photo.find_models_folder() / "performer"
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "first.webp").write_bytes(b"RIFF")
    monkeypatch.setattr(performer_photo, "find_models_folder", lambda: tmp_path)
    with pytest.raises(ModelError, match=r"first\.webp"):
        performer_photo.load_performer_photos()
