"""From a painting to what is drawn: where it shows, its colours, the settings, and the template."""

import numpy as np
import pytest

from livefusion.core.errors import IdentityError
from livefusion.core.settings import SwapSettings
from livefusion.swap.mesh.canonical import CHIN, FOREHEAD_TOP, INNER_LIPS, LEFT_EYE, RIGHT_EYE, canonical_mesh
from livefusion.swap.mesh.visible import visible_triangles
from livefusion.swap.painted import PAINT_SETTINGS, painted_identity, swap_settings
from livefusion.swap.persona import PersonaLibrary
from livefusion.swap.template import draw_template, is_template

pytestmark = pytest.mark.unit

RED = (200, 30, 40)


def paint(side: int = 1024, alpha: int = 255) -> np.ndarray:
    return np.full((side, side, 4), (*RED, alpha), np.uint8)


def texel(*vertices: int, side: int = 1024) -> tuple[int, int]:
    x, y = canonical_mesh().texels(side)[list(vertices)].mean(axis=0)
    return round(float(y)), round(float(x))


@pytest.mark.parametrize("side", [128, 333, 1024, 1500])
def test_paint_covers_the_face_but_eyes_and_mouth(side: int) -> None:
    identity = painted_identity("mask", paint(side))
    assert identity.texture.shape == (1024, 1024, 4)
    assert identity.painted
    assert identity.consent is None
    assert identity.coverage > 0.95
    top, bottom = texel(FOREHEAD_TOP), texel(CHIN)
    assert identity.texture[top[0] + 60, top[1], 3] == 255
    assert identity.texture[bottom[0] - 60, bottom[1], 3] == 255
    assert tuple(identity.texture[texel(50)][:3]) == RED
    for eye in (LEFT_EYE, RIGHT_EYE):
        assert identity.texture[texel(*eye)][3] == 0
    triangles = visible_triangles(identity.texture[..., 3])
    assert not np.isin(triangles, INNER_LIPS).all(axis=1).any()


def test_what_stays_transparent_is_the_performers_own_skin() -> None:
    rgba = np.zeros((1024, 1024, 4), np.uint8)
    y, x = texel(50)
    rgba[y - 20 : y + 20, x - 20 : x + 20] = (*RED, 255)
    identity = painted_identity("dot", rgba)
    shown = identity.texture[..., 3] > 0
    assert shown[y, x]
    assert shown.sum() == 1600
    assert 0 < identity.coverage < 0.01


def test_half_of_the_alpha_hides_half() -> None:
    assert painted_identity("veil", paint(alpha=128)).coverage == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("side", [1024, 700])
def test_the_edge_of_paint_is_not_dark(side: int) -> None:
    rgba = np.zeros((side, side, 4), np.uint8)  # transparent black, as editors leave it
    y, x = texel(280, side=side)
    rgba[y - 30 : y + 30, x - 30 : x + 30] = (*RED, 255)
    texture = painted_identity("dot", rgba).texture
    y, x = texel(280)
    around = texture[y - 50 : y + 50, x - 50 : x + 50, :3].astype(int)
    assert np.abs(around - RED).max() <= 2


@pytest.mark.parametrize(
    ("rgba", "reason"),
    [
        (np.zeros((200, 300, 4), np.uint8), "300 × 200"),
        (np.zeros((64, 64, 4), np.uint8), "64 pixels wide"),
        (np.zeros((256, 256, 4), np.uint8), "nothing is painted"),
    ],
)
def test_what_is_no_painted_face(rgba: np.ndarray, reason: str) -> None:
    with pytest.raises(IdentityError, match=reason):
        painted_identity("face.png", rgba)


def test_paint_beside_the_face_is_no_paint() -> None:
    rgba = np.zeros((256, 256, 4), np.uint8)
    rgba[:8, :8] = 255
    with pytest.raises(IdentityError, match="nothing is painted"):
        painted_identity("face.png", rgba)


def test_paint_keeps_colours_and_the_performers_shape_unless_set() -> None:
    painted = painted_identity("mask", paint(128))
    assert swap_settings(painted, SwapSettings()).model_dump().items() >= PAINT_SETTINGS.items()
    chosen = swap_settings(painted, SwapSettings(shape=0.4, opacity=0.9))
    assert (chosen.shape, chosen.opacity, chosen.match_colour) == (0.4, 0.9, False)


def test_a_persona_has_the_settings_as_they_are() -> None:
    settings = SwapSettings()
    assert swap_settings(PersonaLibrary().load("alex"), settings) is settings


@pytest.mark.parametrize("size", [256, 1024])
def test_the_template_lies_where_the_texture_is_read(size: int) -> None:
    template = draw_template(size)
    assert template.shape == (size, size, 4)
    assert tuple(template[texel(*LEFT_EYE, side=size)][:3]) == (220, 40, 40)
    assert template[texel(50, 101, 118, side=size)][3] > 0
    assert not template[-1, 0].any()
    assert is_template(template)
    template[size // 2, size // 2] = 255
    assert not is_template(template)
