"""Whitening leaves the mark where the picture is calm, and noise where it is not."""

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from livefusion.provenance.whitening import whitened

pytestmark = pytest.mark.unit

Cells = npt.NDArray[np.float32]
ROWS, COLUMNS = 90, 160


def signs(seed: int = 1) -> Cells:
    return (np.random.default_rng(seed).integers(0, 2, (ROWS, COLUMNS)) * 2 - 1).astype(np.float32)


def score(cells: Cells, marks: Cells) -> float:
    x = whitened(cells)
    return float((marks * x).sum() / np.sqrt((x * x).sum()))


def soft() -> Cells:
    """What a codec leaves of a moving texture: nothing that changes from cell to cell."""
    rough = np.random.default_rng(2).normal(120, 400, (ROWS, COLUMNS)).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(rough, (0, 0), 1.6), np.float32)


def text() -> Cells:
    """Letters on the left, paper on the right."""
    page = np.full((ROWS, COLUMNS), 235, np.float32)
    page[:, :80] = np.random.default_rng(3).uniform(20, 235, (ROWS, 80))
    return page


@pytest.mark.parametrize(("picture", "level", "least"), [(soft(), 0.4, 25.0), (text(), 0.5, 60.0)])
def test_a_weak_mark_stands_out(picture: Cells, level: float, least: float) -> None:
    marks = signs()
    assert score(picture + level * marks, marks) > least
    assert abs(score(picture, marks)) < 4


@pytest.mark.parametrize("picture", [soft(), text(), np.full((ROWS, COLUMNS), 90, np.float32)])
def test_other_keys_see_normal_noise(picture: Cells) -> None:
    marked = picture + signs()
    scores = np.array([score(marked, signs(seed)) for seed in range(100, 300)])
    assert abs(scores.mean()) < 0.3
    assert 0.85 < scores.std() < 1.15


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (20, 36), (45, 80), (160, 90)])
def test_any_grid_has_a_length_of_two_at_most(shape: tuple[int, int]) -> None:
    cells = np.random.default_rng(4).uniform(0, 255, shape).astype(np.float32)
    found = whitened(cells)
    assert found.shape == shape
    assert found.dtype == np.float32
    assert 0.9 < float(np.linalg.norm(found)) <= 2.0001


def test_nothing_is_left_of_an_even_picture() -> None:
    assert not np.any(whitened(np.full((ROWS, COLUMNS), 128, np.float32)))
