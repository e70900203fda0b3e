"""Drawing a textured mesh: a block of threads for each tile of the patch."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.raster import EDGE_TOLERANCE, SMALLEST_AREA, check_texture

_TILE = 16
_DRAW = Kernel("lf_draw_mesh", VIEW * 2 + "PPPPPiiff", block=(256, 1, 1), by_block=True)


def draw_mesh(
    kernels: Launcher,
    *,
    vertices: Array,
    depth: Array,
    uv: Array,
    weight: Array,
    triangles: Array,
    texture: Array,
    patch: Array,
) -> None:
    """Draw a textured mesh into a patch; contract in ``reference.raster``.

    All that describes the mesh is contiguous. What is known of a pixel stays in registers.
    """
    check_texture(texture.shape)
    extent = (-(-patch.shape[1] // _TILE), -(-patch.shape[0] // _TILE), 1)
    mesh = [address(array) for array in (vertices, depth, uv, weight, triangles)]
    counts = vertices.shape[0], triangles.shape[0]
    kernels.launch(_DRAW, extent, *view(texture), *view(patch), *mesh, *counts, EDGE_TOLERANCE, SMALLEST_AREA)
