"""The kernels where it hurts: extreme maps, odd outputs, few pixels, faces at and beyond every border.

They run on the host twin, against the references to a fraction of a level, and once more in
``test_kernel_sanitizers.py`` under the sanitizers.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from op_case import COLOURS, Arguments, picture

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine, Region
from livefusion.ops.reference.convert import yuv_to_rgb
from livefusion.ops.reference.sampling import chroma_at, resized
from livefusion.ops.registry import LETTERBOX_NV12, NV12_TO_RGB, NV12_WARP_NORM, SCALE_NV12, OperatorSpec
from livefusion.ops.yuv import chroma_origin
from livefusion.testing.host_twin import HostTwin, compiler

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

Array = np.ndarray[Any, Any]

# float32 arithmetic on levels up to 255; next to half a level, either neighbour is right.
CLOSE, NEAREST = 2e-3, 0.501

thorough = settings(max_examples=60, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
even = st.integers(1, 12).map(lambda half: 2 * half)
sizes = st.tuples(even, even)
sides = st.one_of(st.integers(1, 9), st.sampled_from((31, 33, 64)))
colours = st.sampled_from(COLOURS)


@cache
def twin() -> HostTwin:
    return HostTwin()


def noise(seed: int, size: tuple[int, int]) -> Arguments:
    return picture(np.random.default_rng(seed), *size)


def on_twin(operator: OperatorSpec, **arguments: Any) -> None:
    operator.body("cuda")(twin(), **arguments)


def warped(matrices: list[Affine], out_size: tuple[int, int], given: Arguments) -> tuple[Array, Array]:
    """The tensors by the reference and by the kernels."""
    results = []
    for run in (NV12_WARP_NORM.body("reference"), lambda **rest: on_twin(NV12_WARP_NORM, **rest)):
        out = np.full((len(matrices), 3, *out_size[::-1]), np.nan, np.float32)
        run(**given, out=out, matrices=matrices)
        results.append(out)
    return results[0], results[1]


@st.composite
def face_maps(draw: st.DrawFn, size: tuple[int, int], out_size: tuple[int, int]) -> Affine:
    """A similarity, maybe mirrored, that puts a point in or near the picture amid the tensor."""
    across, down = (draw(st.sampled_from((-2.0, -0.1, 0.0, 0.5, 1.0, 1.1, 3.0))) for _ in range(2))
    centre = across * (size[0] - 1), down * (size[1] - 1)
    to = (out_size[0] - 1) / 2, (out_size[1] - 1) / 2
    scale = 10 ** draw(st.floats(-5.5, 6))
    map_ = Affine.similarity(scale, draw(st.floats(-math.pi, math.pi)), centre, to)
    if draw(st.booleans()):
        map_ = Affine(map_.matrix * [[-1], [1]])
    return map_


@thorough
@given(st.data(), seeds, sizes, st.tuples(sides, sides), colours)
def test_warp_agrees_for_faces_anywhere_and_of_any_size(
    data: st.DataObject, seed: int, size: tuple[int, int], out_size: tuple[int, int], color: ColorInfo
) -> None:
    matrices = data.draw(st.lists(face_maps(size, out_size), max_size=9))
    wanted, got = warped(matrices, out_size, noise(seed, size) | {"color": color})
    assert np.abs(wanted - got).max(initial=0) < CLOSE


@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_half_is_the_whole_rounded(layout: str) -> None:
    """Faces beyond one launch, numbers beyond the normal range of float16."""
    matrices = [Affine.similarity(0.5, i, (8, 6), (3, 2)) for i in range(9)]
    shape = (3, 5, 7) if layout == "chw" else (5, 7, 3)
    whole, half = (np.full((9, *shape), np.nan, dtype) for dtype in (np.float32, np.float16))
    for out in (whole, half):
        on_twin(
            NV12_WARP_NORM,
            **noise(0, (16, 12)),
            out=out,
            matrices=matrices,
            color=ColorInfo(),
            mean=(0, 127.5, 128),
            scale=(300, 1 / 127.5, 1e-7),
            layout=layout,
        )
    with np.errstate(over="ignore"):
        assert np.array_equal(half, whole.astype(np.float16))
    assert np.isinf(half).any()
    assert (half == 0).any()


numbers = st.one_of(
    st.floats(-1e15, 1e15), st.floats(-4, 4), st.sampled_from((0.0, 1e-9, -1e-9, 1e300, -1e300))
)


@thorough
@given(st.lists(numbers, min_size=6, max_size=6), seeds, sizes, st.tuples(sides, sides))
def test_no_map_leads_out_of_the_picture(
    values: list[float], seed: int, size: tuple[int, int], out_size: tuple[int, int]
) -> None:
    """Beyond what float64 can place, each value is still one of a pixel of the picture."""
    matrix = Affine(np.reshape(values, (2, 3)))
    with np.errstate(all="ignore"):
        assume(np.isfinite(np.linalg.det(matrix.matrix[:, :2])))
        try:
            assume(np.isfinite(matrix.inverse().matrix).all())
        except ValueError:
            assume(False)
    out = np.full((1, *out_size[::-1], 3), np.nan, np.float32)
    on_twin(NV12_WARP_NORM, **noise(seed, size), out=out, matrices=[matrix], color=ColorInfo(), layout="hwc")
    assert ((out >= 0) & (out <= 255)).all()


@pytest.mark.parametrize("x", [-1e9, -40, -1, 0, 15, 16, 40, 1e9])
@pytest.mark.parametrize("y", [-1e9, -40, -1, 0, 11, 12, 40, 1e9])
def test_a_face_beyond_the_border_sees_the_border(x: float, y: float) -> None:
    """An output pixel at (x, y) of the picture is the nearest pixel of the picture."""
    given = noise(0, (16, 12)) | {"color": COLOURS[0]}
    wanted, got = warped([Affine([[1, 0, -x], [0, 1, -y]])], (1, 1), given)
    assert np.abs(wanted - got).max() < CLOSE


def test_maps_that_cannot_be_used_change_nothing() -> None:
    keep, flat = Affine([[1, 0, 0], [0, 1, 0]]), Affine(np.zeros((2, 3)))
    out = np.full((2, 3, 4, 4), np.nan, np.float32)
    for matrices in ([keep, flat], [keep], [keep] * 3):
        with pytest.raises(ValueError, match=r"singular|cannot fill"):
            on_twin(NV12_WARP_NORM, **noise(0, (8, 6)), out=out, matrices=matrices, color=ColorInfo())
    assert np.isnan(out).all()


@thorough
@given(seeds, sizes, st.tuples(sides, sides), colours)
def test_letterbox_agrees_in_any_size(
    seed: int, size: tuple[int, int], out_size: tuple[int, int], color: ColorInfo
) -> None:
    wanted, got = (np.full((3, *out_size[::-1]), np.nan, np.float32) for _ in range(2))
    given = noise(seed, size) | {"color": color}
    LETTERBOX_NV12.body("reference")(**given, out=wanted)
    on_twin(LETTERBOX_NV12, **given, out=got)
    assert np.abs(wanted - got).max() < CLOSE


@st.composite
def regions(draw: st.DrawFn, size: tuple[int, int]) -> Region:
    """An even region within a picture."""
    sides = [2 * draw(st.integers(1, side // 2)) for side in size]
    corner = [2 * draw(st.integers(0, (side - part) // 2)) for side, part in zip(size, sides, strict=True)]
    return Region(*corner, *sides)


@thorough
@given(st.data(), seeds, sizes, sizes)
def test_scaling_rounds_the_exact_mean_into_any_region(
    data: st.DataObject, seed: int, size: tuple[int, int], out_size: tuple[int, int]
) -> None:
    region = data.draw(regions(out_size))
    given, out = noise(seed, size), noise(seed + 1, out_size)
    luma, chroma = out["luma"], out["chroma"]
    on_twin(SCALE_NV12, **given, out_luma=luma, out_chroma=chroma, region=region, background=(1, 2, 3))
    exact = resized(given["luma"], region.height, region.width)
    assert np.abs(luma[region.luma] - exact).max() < NEAREST
    exact = resized(given["chroma"], region.height // 2, region.width // 2)
    assert np.abs(chroma[region.chroma] - exact).max() < NEAREST
    luma[region.luma], chroma[region.chroma] = 1, (2, 3)
    assert (luma == 1).all()
    assert (chroma == (2, 3)).all()


@thorough
@given(seeds, sizes, colours)
def test_rgb_is_the_exact_colour_rounded(seed: int, size: tuple[int, int], color: ColorInfo) -> None:
    given = noise(seed, size)
    rgb = np.zeros((*size[::-1], 3), np.uint8)
    on_twin(NV12_TO_RGB, **given, rgb=rgb, color=color)
    y, x = np.mgrid[0 : size[1], 0 : size[0]].astype(np.float64)
    colours = chroma_at(given["chroma"], x, y, chroma_origin(color.siting))
    assert np.abs(rgb - yuv_to_rgb(given["luma"].astype(np.float64), colours, color)).max() < NEAREST
