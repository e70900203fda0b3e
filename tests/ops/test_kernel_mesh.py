"""The kernels of meshes, colours and regions where it hurts: no area, out of sight, every border.

They run on the host twin, and once more in ``test_kernel_sanitizers.py`` under the sanitizers.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_case import Arguments, body_of, picture
from raster_oracle import drawing, faults, ramps

from livefusion.ops.cuda.light import LONGEST_LINE
from livefusion.ops.registry import (
    ADD_PLANE,
    BLEND_MATCHED,
    BLUR_REGION,
    COLOUR_STATS,
    DRAW_MESH,
    FILL_REGION,
    LIGHT_FIELD,
    OperatorSpec,
)
from livefusion.testing.host_twin import compiler

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

Array = np.ndarray[Any, Any]

thorough = settings(max_examples=60, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
sides = st.integers(1, 40)
even = st.integers(1, 20).map(lambda half: 2 * half)

ordinary = st.floats(-8, 48, width=32)
on_centres = st.integers(-3, 43).map(float)
extreme = st.sampled_from((-1e6, -3000.0, -0.5, 0.0, 15.5, 16.0, 39.0, 3000.0, 1e6))
places = st.one_of(ordinary, on_centres, extreme)


def both(operator: OperatorSpec, arguments: Arguments) -> tuple[Arguments, Arguments]:
    """The arguments after the reference and after the kernels."""
    results = []
    for kind in ("reference", "cuda"):
        after = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }
        body_of(operator, kind)(**after)
        results.append(after)
    return results[0], results[1]


def largest_difference(operator: OperatorSpec, arguments: Arguments) -> float:
    wanted, got = both(operator, arguments)
    return max(
        float(np.abs(wanted[name].astype(np.float64) - got[name]).max(initial=0)) for name in operator.writes
    )


def draw(mesh: Arguments, height: int, width: int, texture: Array | None = None) -> Array:
    patch = np.full((height, width, 4), 77, np.uint8)
    texture = ramps() if texture is None else texture
    body_of(DRAW_MESH, "cuda")(**mesh, texture=texture, patch=patch)
    return patch


def random_mesh(vertices: Array, triangles: Array, seed: int) -> Arguments:
    rng, count = np.random.default_rng(seed), len(vertices)
    return {
        "vertices": vertices.astype(np.float32),
        "depth": rng.choice(np.array([-5, 0, 0, 3, 40], np.float32), count),
        "uv": rng.uniform(-9, 264, (count, 2)).astype(np.float32),
        "weight": rng.uniform(-0.1, 1.1, count).astype(np.float32),
        "triangles": triangles.astype(np.int32),
    }


@st.composite
def meshes(draw: st.DrawFn) -> Arguments:
    """A few vertices anywhere; triangles of any three of them, be they the same."""
    vertices = draw(st.lists(st.tuples(places, places), min_size=3, max_size=12))
    corner = st.integers(0, len(vertices) - 1)
    triangles = draw(st.lists(st.tuples(corner, corner, corner), min_size=0, max_size=20))
    return random_mesh(np.array(vertices), np.array(triangles).reshape(-1, 3), draw(seeds))


@thorough
@given(meshes(), sides, sides)
def test_each_pixel_shows_the_nearest_triangle(mesh: Arguments, height: int, width: int) -> None:
    assert not faults(drawing(mesh, height, width), draw(mesh, height, width)).any()


@thorough
@given(seeds, st.integers(200, 900))
def test_many_triangles_are_drawn_in_turns(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    mesh = random_mesh(rng.uniform(-5, 45, (300, 2)), rng.integers(0, 300, (count, 3)), seed)
    assert not faults(drawing(mesh, 33, 18), draw(mesh, 33, 18)).any()


@pytest.mark.parametrize(("nearer", "shown"), [(None, 0), (599, 599), (300, 300), (1, 1)])
def test_the_first_of_equals_wins_in_any_turn(nearer: int | None, shown: int) -> None:
    """600 times the same triangle, each with a texel of its own; one may be nearer."""
    corners = np.array([[-50, -50], [100, -50], [-50, 100]], np.float32)
    number = np.repeat(np.arange(600, dtype=np.float32), 3)
    mesh = {
        "vertices": np.tile(corners, (600, 1)),
        "depth": np.where(number == (-1 if nearer is None else nearer), 1, 2).astype(np.float32),
        "uv": np.stack([number, np.zeros_like(number)], axis=1),
        "weight": np.ones(1800, np.float32),
        "triangles": np.arange(1800, dtype=np.int32).reshape(600, 3),
    }
    texture = np.full((2, 600, 4), 255, np.uint8)
    texture[..., 0], texture[..., 1] = np.divmod(np.arange(600), 256)
    assert (draw(mesh, 17, 17, texture) == (*divmod(shown, 256), 255, 255)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_a_vertex_at_no_place_spoils_its_own_triangles_only(bad: float) -> None:
    mesh = random_mesh(np.array([[0, 0], [30, 0], [0, 30], [bad, 5]]), np.array([[0, 1, 3], [0, 1, 2]]), 1)
    lone = mesh | {"triangles": mesh["triangles"][1:]}
    assert np.array_equal(draw(mesh, 20, 20), draw(lone, 20, 20))


@pytest.mark.parametrize("far", [(10.3, 7.9), (411.1, 777.7), (-1e6, 123456.7), (3.3e7, 1.7e7)])
def test_a_triangle_with_two_equal_corners_is_not_drawn(far: tuple[float, float]) -> None:
    mesh = random_mesh(np.array([(0.3, 0.7), far, far]), np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]]), 1)
    assert (draw(mesh, 40, 40) == 0).all()


def test_a_triangle_of_vertices_that_do_not_exist_is_left_out() -> None:
    mesh = random_mesh(np.array([[0, 0], [30, 0], [0, 30]]), np.array([[0, 1, 3], [-1, 0, 1], [0, 1, 2]]), 1)
    assert (draw(mesh, 9, 9) > 0).any()
    assert (draw(mesh | {"triangles": mesh["triangles"][:2]}, 9, 9) == 0).all()


@thorough
@given(seeds, sides, sides, st.integers(2, 9), st.integers(2, 9), st.sampled_from((1.0, 40.0, 1e9)))
def test_texels_of_any_texture(
    seed: int, height: int, width: int, rows: int, columns: int, reach: float
) -> None:
    rng = np.random.default_rng(seed)
    mesh = random_mesh(np.array([[-50, -50], [150, -50], [-50, 150]]), np.array([[0, 1, 2]]), seed)
    mesh["uv"][:] = rng.uniform(-1, 1, 2) * reach
    mesh["weight"][:] = rng.choice([0, 0.002, 0.5, 1])
    arguments = mesh | {
        "texture": rng.integers(0, 256, (rows, columns, 4), np.uint8),
        "patch": rng.integers(0, 256, (height, width, 4), np.uint8),
    }
    wanted, got = (after["patch"].astype(int) for after in both(DRAW_MESH, arguments))
    edge = (wanted[..., 3] == 0) != (got[..., 3] == 0)  # all or nothing, by the rounding of alpha
    assert np.abs(wanted - got)[~edge].max(initial=0) <= 1
    assert np.maximum(wanted, got)[edge][:, 3].max(initial=0) <= 1


@pytest.mark.parametrize("name", ["uv", "weight", "depth"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_numbers_that_are_none_lead_nowhere(name: str, bad: float) -> None:
    mesh = random_mesh(np.array([[-5, -5], [60, -5], [-5, 60]]), np.array([[0, 1, 2]]), 1)
    mesh[name].flat[1] = bad
    draw(mesh, 20, 20, ramps()[:3, :3].copy())


def patch_of(rng: np.random.Generator, height: int, width: int) -> Array:
    """Pixels of noise that are clear, faint or firm, in areas."""
    patch = rng.integers(0, 256, (height, width, 4), np.uint8)
    alphas = rng.choice(np.array([0, 3, 229, 230, 255], np.uint8), (-(-height // 6), -(-width // 6)))
    patch[..., 3] = alphas.repeat(6, axis=0).repeat(6, axis=1)[:height, :width]
    patch[:, 1::2, 3] -= patch[:, 1::2, 3] == 230  # a mean of 229.5 is firm, too
    return patch


def stats_of(rng: np.random.Generator) -> Array:
    return rng.uniform(1, 160, (3, 4)).astype(np.float32)


@thorough
@given(seeds, even, even, even, even, st.sampled_from((0.0, 0.5, 0.85)))
def test_colours_are_measured_in_any_corner(
    seed: int, height: int, width: int, right: int, below: int, momentum: float
) -> None:
    """The patch is at the left, at the top, or as far from there as the picture is larger."""
    rng = np.random.default_rng(seed)
    arguments = picture(rng, width + right, height + below) | {
        "patch": patch_of(rng, height, width),
        "x": int(rng.choice([0, right])),
        "y": int(rng.choice([0, below])),
        "momentum": momentum,
        "stats": stats_of(rng),
        "cells": np.full((-(-height // 8), -(-width // 8), 7), np.nan, np.float32),
    }
    assert largest_difference(COLOUR_STATS, arguments) <= 1e-3


@pytest.mark.parametrize(("x", "y"), [(-10, -4), (70, 50), (-2, 60), (400, 400), (-400, 2)])
def test_what_lies_outside_the_picture_is_not_measured(x: int, y: int) -> None:
    rng = np.random.default_rng(0)
    patch, planes = patch_of(rng, 30, 40), picture(rng, 80, 60)
    patch[..., 3] = 255
    stats, cells = stats_of(rng), np.full((4, 5, 7), np.nan, np.float32)
    body_of(COLOUR_STATS, "cuda")(**planes, patch=patch, x=x, y=y, momentum=0.0, stats=stats, cells=cells)
    inside = max(0, min(80, x + 40) - max(0, x)) * max(0, min(60, y + 30) - max(0, y))
    assert cells[..., 0].sum() == inside / 4


@pytest.mark.parametrize("size", [(1080, 1920), (2160, 2160)])
def test_statistics_of_large_patches_lose_no_digits(size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    patch = np.full((*size, 4), (255, 3, 128, 255), np.uint8)
    patch[: size[0] // 2, :, 0] = 253
    arguments = picture(rng, size[1], size[0]) | {
        "patch": patch,
        "x": 0,
        "y": 0,
        "momentum": 0.0,
        "stats": stats_of(rng),
        "cells": np.full((-(-size[0] // 8), -(-size[1] // 8), 7), np.nan, np.float32),
    }
    assert largest_difference(COLOUR_STATS, arguments) <= 1e-3


@thorough
@given(seeds, st.integers(1, 45), st.integers(1, 45), st.integers(1, 60), st.integers(0, 9), st.floats(0, 1))
def test_light_of_any_grid(
    seed: int, rows: int, columns: int, radius: int, rim_radius: int, rim: float
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.uniform(0, 4000, (rows, columns, 7)).astype(np.float32)
    cells[..., 0] = rng.uniform(0, 16, (rows, columns))
    cells *= rng.choice([0, 1], (rows, columns, 1)).astype(np.float32)
    light = np.full((rows, columns, 3), np.nan, np.float32)
    shares = {"radius": radius, "rim_radius": rim_radius, "relight": 0.8, "rim": rim}
    arguments = shares | {"cells": cells, "stats": stats_of(rng), "light": light}
    wanted, got = (after["light"] for after in both(LIGHT_FIELD, arguments))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-2)


def test_light_of_a_face_that_fills_2160p() -> None:
    rng = np.random.default_rng(0)
    cells = np.repeat(rng.uniform(0, 16, (270, 270, 1)), 7, axis=2).astype(np.float32)
    cells[..., 1:] *= rng.uniform(90, 160, (270, 270, 6)).astype(np.float32)
    light = np.zeros((270, 270, 3), np.float32)
    shares = {"radius": 35, "rim_radius": 8, "relight": 0.8, "rim": 1.0}
    arguments = shares | {"cells": cells, "stats": stats_of(rng), "light": light}
    assert largest_difference(LIGHT_FIELD, arguments) <= 2e-3


@pytest.mark.parametrize("shape", [(1, LONGEST_LINE + 1), (LONGEST_LINE + 1, 1), (1, LONGEST_LINE)])
def test_lines_that_do_not_fit_are_refused(shape: tuple[int, int]) -> None:
    arguments = {
        "cells": np.zeros((*shape, 7), np.float32),
        "stats": np.ones((3, 4), np.float32),
        "radius": 9,
        "rim_radius": 2,
        "relight": 0.8,
        "rim": 1.0,
        "light": np.full((*shape, 3), np.nan, np.float32),
    }
    if max(shape) > LONGEST_LINE:
        with pytest.raises(ValueError, match="1024"):
            body_of(LIGHT_FIELD, "cuda")(**arguments)
    else:
        body_of(LIGHT_FIELD, "cuda")(**arguments)
        assert (arguments["light"] == 0).all()


@thorough
@given(seeds, even, even, st.integers(-25, 25), st.integers(-25, 25), st.floats(0, 1), st.floats(0, 1))
def test_a_patch_is_matched_and_blended_anywhere(
    seed: int, height: int, width: int, x: int, y: int, strength: float, opacity: float
) -> None:
    rng = np.random.default_rng(seed)
    arguments = picture(rng, 46, 42) | {
        "patch": patch_of(rng, height, width),
        "stats": stats_of(rng),
        "light": rng.uniform(-300, 300, (-(-height // 8), -(-width // 8), 3)).astype(np.float32),
        "detail": detail_of(rng),
        "grain": strength,
        "seed": seed,
        "strength": strength,
        "opacity": opacity,
        "x": 2 * x,
        "y": 2 * y,
    }
    for wanted, got in zip(*(planes(after) for after in both(BLEND_MATCHED, arguments)), strict=True):
        assert np.abs(wanted - got).max() <= 1
        assert (wanted != got).mean() <= 0.01


def detail_of(rng: np.random.Generator) -> Array:
    """Blur and grain that may be missing."""
    return rng.uniform(0, 9, (3, 6)).astype(np.float32)


def planes(arguments: Arguments) -> tuple[Array, Array]:
    return arguments["luma"].astype(int), arguments["chroma"].astype(int)


@thorough
@given(st.one_of(st.floats(0, 1), st.integers(0, 100).map(lambda percent: percent / 100)))
def test_every_alpha_is_scaled_exactly(opacity: float) -> None:
    """White that nothing matches, on black: the picture tells the alpha."""
    patch = np.full((16, 16, 4), 255, np.uint8)
    patch[..., 3] = np.arange(256).reshape(16, 16)
    arguments = {
        "luma": np.zeros((16, 16), np.uint8),
        "chroma": np.zeros((8, 8, 2), np.uint8),
        "patch": patch,
        "stats": np.zeros((3, 4), np.float32),
        "light": np.zeros((2, 2, 3), np.float32),
        "detail": np.zeros((3, 6), np.float32),
        "grain": 1.0,
        "seed": 3,
        "strength": 1.0,
        "opacity": opacity,
        "x": 0,
        "y": 0,
    }
    body_of(BLEND_MATCHED, "cuda")(**arguments)
    wanted = (np.arange(256) * opacity + 0.5).astype(np.uint8)
    assert np.array_equal(arguments["luma"].ravel(), wanted)


boxes = st.fixed_dictionaries(
    {
        "x": st.integers(-20, 24).map(lambda half: 2 * half),
        "y": st.integers(-20, 24).map(lambda half: 2 * half),
        "width": st.integers(0, 30).map(lambda half: 2 * half),
        "height": st.integers(0, 30).map(lambda half: 2 * half),
    }
)


@thorough
@given(seeds, even, even, boxes, st.integers(1, 20), st.integers(0, 5).map(lambda half: 2 * half))
def test_any_box_is_blurred(
    seed: int, width: int, height: int, box: dict[str, int], cells: int, feather: int
) -> None:
    planes = picture(np.random.default_rng(seed), width, height)
    assert largest_difference(BLUR_REGION, planes | box | {"cells": cells, "feather": feather}) <= 1


@thorough
@given(seeds, even, even, boxes)
def test_any_box_is_filled(seed: int, width: int, height: int, box: dict[str, int]) -> None:
    planes = picture(np.random.default_rng(seed), width, height)
    assert largest_difference(FILL_REGION, planes | box | {"yuv": (0, 99, 255)}) == 0


@thorough
@given(seeds, sides, sides, st.integers(0, 255))
def test_a_plane_is_added_to_any_picture(seed: int, width: int, height: int, spread: int) -> None:
    rng = np.random.default_rng(seed)
    luma = rng.integers(0, 256 - spread) + rng.integers(0, spread + 1, (height, width))
    arguments = {
        "luma": luma.astype(np.uint8),
        "delta": rng.integers(-128, 128, (height, width)).astype(np.int8),
        "gains": rng.integers(0, 256, (16, 16)).astype(np.uint8),
    }
    assert largest_difference(ADD_PLANE, arguments) == 0
