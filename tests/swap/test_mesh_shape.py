"""Pose and shape of the new face."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livefusion.swap.mesh.canonical import (
    CHIN,
    INNER_LIPS,
    LEFT_EYE,
    OUTER_LIPS,
    OVAL,
    RIGHT_EYE,
    canonical_mesh,
)
from livefusion.swap.mesh.shape import SourceShape, fit_pose, mix_falloff, vertex_normals

pytestmark = pytest.mark.unit

Posed = Callable[..., np.ndarray]


@given(
    angles=st.tuples(*[st.floats(-3, 3)] * 3),
    scale=st.floats(0.1, 50),
    shift=st.tuples(*[st.floats(-500, 500)] * 3),
)
@settings(max_examples=40, deadline=None)
def test_a_similarity_is_found_again(
    angles: tuple[float, ...], scale: float, shift: tuple[float, ...]
) -> None:
    a, b, c = angles
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    turn = turn @ np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    turn = turn @ np.array([[np.cos(c), 0, np.sin(c)], [0, 1, 0], [-np.sin(c), 0, np.cos(c)]])
    source = canonical_mesh().vertices[::9].astype(np.float64)
    target = scale * source @ turn.T + shift
    np.testing.assert_allclose(fit_pose(source, target)(source), target, atol=1e-6 * scale + 1e-6)
    assert np.linalg.det(fit_pose(source, -target).rotation) == pytest.approx(1)


def test_expression_and_gaze_stay_the_performers() -> None:
    falloff = mix_falloff()[:, 0]
    assert falloff[list(INNER_LIPS)].max() == 0
    assert falloff[list(LEFT_EYE + RIGHT_EYE)].max() == 0
    assert 0.08 < falloff[list(OVAL)].min() <= falloff[list(OVAL)].max() < 0.301


def test_brows_and_nose_are_the_sources() -> None:
    falloff = mix_falloff()[:, 0]
    assert falloff.max() == 1
    assert falloff[[105, 66, 107, 334, 296, 336, 168, 197]].min() > 0.95
    assert falloff[CHIN] < falloff[[117, 346]].min()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_ones_own_shape_changes_nothing(posed: Posed, share: float) -> None:
    landmarks = posed(yaw=20)
    mesh, _ = SourceShape(canonical_mesh().vertices).onto(landmarks, share)
    np.testing.assert_allclose(mesh, landmarks[:468], atol=0.02)


def test_another_shape_is_taken_by_its_share(posed: Posed) -> None:
    other = canonical_mesh().vertices.copy()
    other[4, 2] -= 1.5  # a longer nose
    landmarks = posed()
    half, _ = SourceShape(other).onto(landmarks, 0.5)
    whole, _ = SourceShape(other).onto(landmarks, 1.0)
    moved = whole[4, 2] - landmarks[4, 2]
    assert moved < -5
    assert half[4, 2] - landmarks[4, 2] == pytest.approx(moved / 2, rel=1e-3)


def test_weight_follows_the_view(posed: Posed) -> None:
    shape = SourceShape(canonical_mesh().vertices)
    _, frontal = shape.onto(posed(), 0.0)
    _, turned = shape.onto(posed(yaw=60), 0.0)
    assert frontal[[4, 50, 280]].min() == 1
    assert sorted(turned[[234, 454]] > 0.9) == [False, True]
    assert turned[[234, 454]].min() == 0
    assert 0 < frontal[list(INNER_LIPS)].max() < 1  # the mouth opens without a hard seam


@pytest.mark.parametrize(
    ("wanted", "gone", "kept"),
    [
        ({"mouth": 0.0}, (*INNER_LIPS, *OUTER_LIPS), (*LEFT_EYE, *RIGHT_EYE, 50, 334, 4)),
        ({"eyes": 0.0}, (*LEFT_EYE, *RIGHT_EYE), (*OUTER_LIPS, 50, 334, 4)),
    ],
)
def test_lips_and_lids_may_stay_the_performers(
    posed: Posed, wanted: dict[str, float], gone: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    shape = SourceShape(canonical_mesh().vertices)
    _, whole = shape.onto(posed(), 0.5)
    _, weight = shape.onto(posed(), 0.5, **wanted)
    _, half = shape.onto(posed(), 0.5, **dict.fromkeys(wanted, 0.5))
    assert weight[list(gone)].max() == 0
    np.testing.assert_allclose(half[list(gone)], whole[list(gone)] / 2, atol=1e-6)
    np.testing.assert_array_equal(weight[list(kept)], whole[list(kept)])


def test_normals_point_out_of_the_face() -> None:
    normals = vertex_normals(canonical_mesh().vertices)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-3)
    assert normals[4, 2] < -0.5
    assert normals[234, 0] < 0 < normals[454, 0]
