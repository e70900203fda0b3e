"""Drawing a textured mesh: a block of threads for each tile of the map, then a thread for each pixel."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.raster import EDGE_TOLERANCE, SMALLEST_AREA

_TILE = 16
_RASTER = Kernel("lf_raster_uv", VIEW * 2 + "PPPPPiiff", block=(256, 1, 1), by_block=True)
_SAMPLE = Kernel("lf_sample_uv", VIEW * 4)


def raster_uv(
    kernels: Launcher,
    *,
    vertices: Array,
    depth: Array,
    uv: Array,
    weight: Array,
    triangles: Array,
    map: Array,
    cover: Array,
    zbuffer: Array,
) -> None:
    """Draw a mesh into a map from pixel to texel; contract in ``reference.raster``.

    All that describes the mesh is contiguous. ``zbuffer`` is not used: a pixel's depth stays in a register.
    """
    height, width = cover.shape
    extent = (-(-width // _TILE), -(-height // _TILE), 1)
    mesh = [address(array) for array in (vertices, depth, uv, weight, triangles)]
    counts = vertices.shape[0], triangles.shape[0]
    kernels.launch(_RASTER, extent, *view(map), *view(cover), *mesh, *counts, EDGE_TOLERANCE, SMALLEST_AREA)


def sample_uv(kernels: Launcher, *, map: Array, cover: Array, texture: Array, patch: Array) -> None:
    """Look up the texels of a map, bilinearly; contract in ``reference.raster``.

    ``ValueError`` if the texture has no two texels a side.
    """
    if min(texture.shape[:2]) < 2:
        raise ValueError(f"a texture of {texture.shape[:2]} has no neighbours to interpolate between")
    extent = (patch.shape[1], patch.shape[0], 1)
    kernels.launch(_SAMPLE, extent, *view(map), *view(cover), *view(texture), *view(patch))
