"""From photos to textures, on photos that are drawn: the canonical face in flat colours."""

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from livefusion.swap.mesh.bake import (
    SourcePhoto,
    View,
    draw_on_texture,
    inside_outline,
    unwrap,
)
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, canonical_mesh
from livefusion.swap.mesh.identity import bake_identity, mean_shape
from livefusion.swap.mesh.mask import face_mask, forehead_height
from livefusion.swap.mesh.merge import merge, weighted_midmean
from livefusion.swap.mesh.skin import hair_cut

pytestmark = pytest.mark.unit

Posed = Callable[..., np.ndarray]
SKIN, HAIR = (200, 150, 130), (50, 35, 25)


def _photo(posed: Posed, yaw: float = 0.0, shade: float = 1.0) -> SourcePhoto:
    """A face of 200 px whose colour tells where it is: red rises to the right, green downwards."""
    ys, xs = np.mgrid[0:240, 0:320]
    rgb = np.stack([xs * 0.5 + 40, ys * 0.8 + 20, np.full(xs.shape, 120)], axis=-1) * shade
    return SourcePhoto(rgb.astype(np.uint8), posed(height=200, yaw=yaw))


def test_each_texel_shows_its_place_in_the_photo(posed: Posed) -> None:
    photo = _photo(posed)
    view = unwrap(photo)
    for vertex in (1, 50, 280, 9, 17):
        x, y = np.round(canonical_mesh().texels()[vertex]).astype(int)
        wanted = photo.landmarks[vertex, 0] * 0.5 + 40, photo.landmarks[vertex, 1] * 0.8 + 20
        assert view.rgb[y, x, :2] == pytest.approx(wanted, abs=6)
    np.testing.assert_array_equal(view.shape, photo.landmarks[:468])


def test_what_looks_at_the_camera_faces_it(posed: Posed) -> None:
    facing = unwrap(_photo(posed, yaw=40)).facing
    texels = np.round(canonical_mesh().texels()).astype(int)
    near, far = (facing[texels[vertex, 1], texels[vertex, 0]] for vertex in (50, 280))
    assert abs(near - far) > 0.3
    assert 0 <= facing.min() <= facing.max() <= 1


def test_the_far_side_is_filled_from_the_near_one(posed: Posed) -> None:
    photo = _photo(posed, yaw=50)
    view = unwrap(photo)
    texels = np.round(canonical_mesh().texels()).astype(int)
    hidden = min((50, 280), key=lambda vertex: view.facing[texels[vertex, 1], texels[vertex, 0]])
    x, y = texels[hidden]
    own = photo.landmarks[hidden, 0] * 0.5 + 40
    assert abs(float(view.rgb[y, x, 0]) - own) > 3


def test_a_large_photo_is_shrunk_and_not_aliased(posed: Posed) -> None:
    landmarks = posed(height=2400, centre=(1100, 1300))
    checks = (np.indices((2600, 2200)).sum(axis=0) % 2 * 255).astype(np.uint8)
    view = unwrap(SourcePhoto(np.repeat(checks[..., None], 3, axis=2), landmarks))
    assert view.rgb[inside_outline()].std() < 12


def _flat(level: int, facing: float = 1.0) -> View:
    rgb = np.full((1024, 1024, 3), level, np.uint8)
    return View(rgb, np.full((1024, 1024), facing, np.float32), canonical_mesh().vertices)


def test_exposure_is_evened_out_and_outliers_are_dropped() -> None:
    stained = _flat(120)
    stained.rgb[500:520, 500:520] = 0
    merged = merge([_flat(100), _flat(140), stained, _flat(120)])
    assert np.abs(merged.astype(int) - 120).max() <= 3
    assert (merge([_flat(77)]) == 77).all()


def test_of_two_views_the_one_that_faces_the_camera_wins() -> None:
    left, right = _flat(120, facing=1.0), _flat(120, facing=0.0)
    left.rgb[300:310], right.rgb[300:310] = 130, 90
    assert abs(int(merge([left, right])[305, 500, 0]) - 130) <= 3


def test_midmean_by_hand() -> None:
    stack = np.array([0, 10, 20, 1000], np.float32).reshape(4, 1, 1, 1)
    weights = np.ones((4, 1, 1), np.float32)
    assert weighted_midmean(stack, weights)[0, 0, 0] == pytest.approx(15)
    weights[3] = 100
    assert weighted_midmean(stack, weights)[0, 0, 0] == pytest.approx(1000)


def test_a_fringe_is_cut_with_all_that_lies_beyond_and_brows_are_not() -> None:
    rgb = np.full((1024, 1024, 3), SKIN, np.uint8)
    height = forehead_height()[:, 0]
    rgb[(height > 0.5) & (height < 0.7)] = HAIR
    rgb[(height > -0.1) & (height < 0.05), 300:420] = HAIR
    cut = hair_cut(rgb)
    middle = cut[:, 512]
    assert middle[(height > 0) & (height < 0.1)].min() > 0.9
    assert middle[height > 0.55].max() < 0.1
    assert cut[:, 350][(height > -0.1) & (height < 0.05)].min() > 0.8


def test_the_mask_is_feathered_and_open_at_the_eyes() -> None:
    mask = face_mask()
    texels = canonical_mesh().texels()
    assert mask[~inside_outline()].max() == 0
    assert np.abs(np.diff(mask, axis=0)).max() < 0.2
    for ring in (RIGHT_EYE, LEFT_EYE):
        x, y = texels[list(ring)].mean(axis=0).astype(int)
        assert mask[y, x] == 0
    for vertex in (4, 50, 280):
        x, y = texels[vertex].astype(int)
        assert mask[y, x] == 1


def test_an_identity_from_two_photos(posed: Posed) -> None:
    photos = [_photo(posed, yaw=-20), _photo(posed, yaw=20, shade=0.8)]
    identity = bake_identity(photos, id="me", label="Me", consent={"who": "me"})
    assert identity.texture.shape == (1024, 1024, 4)
    assert identity.texture.dtype == np.uint8
    assert (identity.id, identity.consent) == ("me", {"who": "me"})
    with pytest.raises(ValueError, match="photo"):
        bake_identity([], id="me", label="Me")


def test_the_mean_shape_does_not_depend_on_pose(posed: Posed) -> None:
    shapes = [posed(yaw=yaw, height=height)[:468] for yaw, height in ((0, 200), (30, 150), (-30, 260))]
    mean = mean_shape(shapes)
    np.testing.assert_allclose(mean, shapes[0], atol=0.05)


def test_drawing_on_the_texture_is_linear() -> None:
    texels = canonical_mesh().texels()
    drawn = draw_on_texture(texels)
    x, y = np.round(texels[4]).astype(int)
    assert drawn[y, x] == pytest.approx((x, y), abs=0.01)


@pytest.mark.parametrize("sigma", [2.0, 12.0, 80.0])
def test_a_wide_blur_is_that_of_the_whole_size(sigma: float) -> None:
    rng = np.random.default_rng(3)
    picture = cv2.GaussianBlur(rng.normal(0, 40, (1024, 1024)).astype(np.float32), (0, 0), 6)
    wanted = cv2.GaussianBlur(picture, (0, 0), sigma)
    inside = np.s_[200:-200, 200:-200]
    assert np.abs(low_pass(picture, sigma)[inside] - wanted[inside]).max() < 0.05 * np.abs(wanted).max()
