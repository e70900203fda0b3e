"""What is taken out of a photo before its face is put on: light, smile, glasses, hair."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from livefusion.evaluation.colour_difference import delta_e
from livefusion.evaluation.picture import lab
from livefusion.media.sources.performer_photo import load_performer_photos
from livefusion.swap.mesh.bake import SourcePhoto, View, draw_on_texture, unwrap
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, canonical_mesh
from livefusion.swap.mesh.delight import delight, harmonics
from livefusion.swap.mesh.glasses import find_rims, without_glasses
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.regions import not_bare
from livefusion.swap.mesh.shape import vertex_normals
from livefusion.swap.mesh.skin import hair_cut
from livefusion.swap.mesh.smile import soften_smile
from livefusion.swap.persona import PersonaLibrary

pytestmark = pytest.mark.media

DARK = (30, 25, 22)


@pytest.fixture(scope="module")
def portrait() -> SourcePhoto:
    photo = load_performer_photos()[0]
    return SourcePhoto(photo.rgb, photo.landmarks)


@pytest.fixture(scope="module")
def view(portrait: SourcePhoto) -> View:
    return unwrap(portrait)


def _lit(view: View, azimuth: float, colour: tuple[float, float, float]) -> View:
    """The view with a lamp at that side of it, and some light from all around."""
    normals = vertex_normals(view.shape)
    angle = np.radians(azimuth)
    lamp = np.array([np.sin(angle), -0.25, -np.cos(angle)])
    shade = 0.3 + 0.8 * np.clip(normals @ lamp, 0, None)
    drawn = draw_on_texture(np.column_stack([shade, shade]).astype(np.float32))[..., :1]
    linear = np.power(view.rgb / 255, 2.2) * drawn * np.array(colour)
    return replace(view, rgb=np.asarray(np.clip(linear ** (1 / 2.2) * 255 + 0.5, 0, 255), np.uint8))


def _difference(first: View, second: View) -> float:
    """Mean CIEDE2000 over the face, apart from tone, which the swap takes from the scene anyway."""
    shown = face_mask() > 0.5
    one, other = lab(first.rgb)[shown], lab(second.rgb)[shown]
    return float(delta_e(one, other + one.mean(axis=0) - other.mean(axis=0)).mean())


@pytest.mark.parametrize("colour", [(1.0, 1.0, 1.0), (1.0, 0.8, 0.6)])
def test_a_face_lit_from_either_side_gives_the_same_texture(
    view: View, colour: tuple[float, float, float]
) -> None:
    left, right = _lit(view, -55, colour), _lit(view, 55, colour)
    assert _difference(left, right) > 12
    assert _difference(delight(left), delight(right)) < 4.5


def test_what_is_small_stays(view: View) -> None:
    spotted = replace(view, rgb=view.rgb.copy())
    cv2.circle(spotted.rgb, (300, 620), 6, (90, 50, 40), -1)
    cleaned = lab(delight(spotted).rgb)[..., 0]
    assert cleaned[560:580, 290:310].mean() - cleaned[618:622, 298:302].mean() > 15


def test_light_from_the_front_changes_little(view: View) -> None:
    assert _difference(delight(view), delight(delight(view))) < 3


def test_harmonics_are_orthogonal_to_one_another() -> None:
    points = np.random.default_rng(1).normal(size=(200_000, 3))
    basis = harmonics(points / np.linalg.norm(points, axis=1, keepdims=True))
    products = basis.T @ basis / len(basis)
    scale = np.sqrt(np.diag(products))
    assert np.abs(products / np.outer(scale, scale) - np.eye(9)).max() < 0.02


def _pixel(point: np.ndarray) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def _with_glasses(photo: SourcePhoto) -> SourcePhoto:
    rgb, points = photo.rgb.copy(), photo.landmarks[:, :2]
    reach = float(np.hypot(*(points[33] - points[263])))
    thick = max(1, round(0.03 * reach))
    lower = np.array([0, 0.06 * reach])
    centres = [points[list(ring)].mean(axis=0) + lower for ring in (RIGHT_EYE, LEFT_EYE)]
    for centre in centres:
        axes = (round(0.25 * reach), round(0.2 * reach))
        cv2.ellipse(rgb, _pixel(centre), axes, 0, 0, 360, DARK, thick, cv2.LINE_AA)
    across = np.array([0.25 * reach, 0])
    cv2.line(rgb, _pixel(centres[0] + across), _pixel(centres[1] - across), DARK, thick, cv2.LINE_AA)
    return SourcePhoto(rgb, photo.landmarks)


def test_rims_of_glasses_are_filled(portrait: SourcePhoto, view: View) -> None:
    worn = unwrap(_with_glasses(portrait))
    rims = find_rims(worn.rgb)
    assert 0.01 < rims.mean() < 0.15
    there = cv2.resize(rims.astype(np.uint8), (1024, 1024)) > 0
    before = np.abs(worn.rgb[there].astype(int) - view.rgb[there]).mean()
    after = np.abs(without_glasses(worn).rgb[there].astype(int) - view.rgb[there]).mean()
    assert after < 0.4 * before


def test_who_wears_no_glasses_is_left_alone(view: View) -> None:
    assert not find_rims(view.rgb).any()
    assert without_glasses(view) is view


def test_folds_go_with_the_smile_and_stay_without(view: View) -> None:
    softened, same = soften_smile(view, 0.9), soften_smile(view, 0.0)
    before, after, kept = (lab(each.rgb)[560:680, 330:420, 0] for each in (view, softened, same))
    assert after.std() < 0.85 * before.std()
    np.testing.assert_array_equal(kept, before)


def test_no_teeth_are_baked_in(view: View) -> None:
    lips = lab(soften_smile(view, 0.0).rgb)[720:740, 440:590, 0]
    assert lips.std() < lab(view.rgb)[720:740, 440:590, 0].std()


def _relief(view: View) -> np.ndarray:
    """Bright and dark of what is broader than pores and finer than the face, on bare skin."""
    lightness = lab(view.rgb)[..., 0]
    return np.asarray(
        (low_pass(lightness, 10) - low_pass(lightness, 60))[(face_mask() > 0.5) & (not_bare() < 0.2)]
    )


def test_the_relief_of_a_face_stays(view: View) -> None:
    before, after = _relief(view), _relief(delight(view))
    assert np.corrcoef(before, after)[0, 1] > 0.9
    assert before @ after > 0.75 * (before @ before)


def test_dark_lashes_do_not_cut_the_temples() -> None:
    texture = PersonaLibrary().load("alex").texture[..., :3].copy()
    places = canonical_mesh().texels()
    for corner, outwards in ((33, -1), (263, 1)):
        x, y = (round(float(value)) for value in places[corner])
        cv2.circle(texture, (x + outwards * 25, y), 14, DARK, -1)
        cut = hair_cut(texture)
        assert cut[y - 20 : y + 20, x + outwards * 150].min() > 0.9
