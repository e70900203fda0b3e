"""The mark is found where it is, also made smaller, mirrored and re-cut, and nowhere else."""

from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from livefusion.core.geometry import Size
from livefusion.ops.cpu.plane import add_plane
from livefusion.provenance import search as searching
from livefusion.provenance.chips import EPOCHS, Grid, epoch_at
from livefusion.provenance.detector import (
    WINDOW,
    Finding,
    ReliefLog,
    detect,
    threshold,
    window_limit,
    window_scores,
)
from livefusion.provenance.reading import FALSE_ALARM
from livefusion.provenance.search import FieldLog, search
from livefusion.provenance.watermark import Payload, Watermark, WatermarkKey, mark_gains, mark_plane

pytestmark = pytest.mark.unit

Luma = npt.NDArray[np.uint8]
SIZE = Size(1280, 720)
KEY = WatermarkKey(b"a key of the tests, and of them alone", 0x2A)
MARK = Watermark(KEY, Payload(0xC0DE, KEY.key_id))
FPS = 4  # a picture is looked at for milliseconds: four a second are enough


def scene(seconds: float, *, marked: bool = True, start: float = 0.0, seed: int = 0) -> Iterator[Luma]:
    """Something soft that moves under a camera's noise, marked from the media time ``start`` on."""
    rng = np.random.default_rng(seed)
    soft = cv2.resize(rng.uniform(30, 220, (18, 48)).astype(np.float32), (1920, 720))
    gains = mark_gains()
    for number in range(round(seconds * FPS)):
        shown = np.roll(soft, -7 * number, axis=1)[:, :1280] + rng.normal(0, 2, (720, 1280))
        luma = np.clip(np.rint(shown), 0, 255).astype(np.uint8)
        if marked:
            add_plane(luma, mark_plane(MARK, SIZE, epoch_at(start + number / FPS)), gains)
        yield luma


def found(pictures: Iterator[Luma], *keys: WatermarkKey) -> Finding:
    log: ReliefLog | None = None
    for number, luma in enumerate(pictures):
        log = log or ReliefLog(Size(luma.shape[1], luma.shape[0]))
        log.add(luma, number / FPS)
    assert log is not None
    return detect(log, keys)


def smaller(luma: Luma, width: int, height: int) -> Luma:
    return np.asarray(cv2.resize(luma, (width, height), interpolation=cv2.INTER_AREA))


def test_the_mark_is_found_and_read_with_the_right_key_only() -> None:
    with_key = found(scene(2), KEY)
    assert with_key.detected
    assert with_key.windows_detected == with_key.windows == 1
    assert with_key.payload == MARK.payload
    assert found(scene(2), WatermarkKey(b"another key of these tests", KEY.key_id)).payload is None
    without = found(scene(2))
    assert without.detected
    assert not without.key_known


@pytest.mark.parametrize("seed", range(3))
def test_a_picture_without_it_has_none(seed: int) -> None:
    nothing = found(scene(4, marked=False, seed=seed), KEY)
    assert not nothing.detected
    assert nothing.windows_detected == 0
    assert nothing.payload is None


@pytest.mark.parametrize(("width", "height"), [(854, 480), (640, 360), (1920, 1080)])
def test_it_survives_another_size(width: int, height: int) -> None:
    finding = found((smaller(luma, width, height) for luma in scene(2)), KEY)
    assert finding.detected
    assert finding.payload == MARK.payload


def test_it_survives_a_mirror() -> None:
    finding = found((luma[:, ::-1].copy() for luma in scene(2)), KEY)
    assert finding.alignment is not None
    assert finding.alignment.mirrored
    assert finding.payload == MARK.payload


@pytest.mark.parametrize("start", [9.0, 8.5, 10 * (EPOCHS - 1) + 9.0])
def test_a_window_may_lie_across_two_epochs(start: float) -> None:
    finding = found(scene(2, start=start), KEY)
    assert finding.windows_detected == 1
    assert finding.payload == MARK.payload


def test_the_start_of_a_longer_video_is_found_by_its_epochs() -> None:
    finding = found(scene(12, start=37.0), KEY)
    assert finding.alignment is not None
    assert (finding.alignment.first, finding.alignment.phase) == (3, 14)
    assert finding.windows_detected == finding.windows == 6


def test_wrong_signs_score_as_chance_says() -> None:
    """The z of signs that have nothing to do with the picture is normal: deviation 1, its tail no fatter."""
    log = ReliefLog(SIZE)
    for number, luma in enumerate(scene(2)):
        log.add(luma, number / FPS)
    x = log.sums(Grid(90, 160), mirrored=False)[:WINDOW].sum(axis=0).reshape(-1)[:7200]
    rng = np.random.default_rng(3)
    signs = rng.integers(0, 2, (20_000, len(x)), np.int8).astype(np.float32) * 2 - 1
    z = signs @ (x / np.linalg.norm(x))
    assert abs(float(z.std()) - 1) < 0.02
    assert float(np.abs(z).max()) < norm.isf(1e-4 / len(z))


def test_the_limit_rises_with_what_was_tried() -> None:
    assert threshold(1) == pytest.approx(float(norm.isf(FALSE_ALARM)))
    assert threshold(1) < window_limit(1) < window_limit(6) < window_limit(6, 100)
    assert window_limit(6, 100) < searching.SEARCH_LIMIT


def test_the_scores_of_noise_stay_below_the_limit() -> None:
    rng = np.random.default_rng(4)
    sums = rng.normal(size=(200, 90 * 160)).astype(np.float32)
    assert window_scores(sums, Grid(90, 160)).max() < window_limit(6)


def test_a_crop_is_found_by_search_and_a_foreign_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_GRIDS", (Grid(90, 160),))
    monkeypatch.setattr(searching, "_FEWEST", 0.7)  # a fifth of the sizes: the whole takes two seconds
    monkeypatch.setattr(searching, "_SCALES", 15)
    told = list[float]()
    sightings = []
    for marked in (True, False):
        log = FieldLog(Size(1024, 576))
        for number, luma in enumerate(scene(4, marked=marked)):
            log.add(luma[61:637, 154:1178].copy(), number / FPS)
        log.close()
        sightings.append(search(log.fields, (KEY,), told.append))
    sighting, nothing = sightings
    assert sighting is not None
    assert sighting.payload == MARK.payload
    assert sighting.place.cells == pytest.approx(72, abs=0.3)
    assert (sighting.place.left, sighting.place.top) == pytest.approx((154 / 8, 61 / 8), abs=0.4)
    assert nothing is None
    assert told[-1] == 1.0
