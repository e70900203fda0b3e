"""Measuring what gives a patch the colours and the light of the frame below it.

Blocks of threads measure rows of cells, one more adds up what they found.
"""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.colour import CELL, FEWEST_SAMPLES, FIRM_ALPHA, JUMP

_BLOCK = (256, 1, 1)
_CELLS = Kernel("lf_colour_cells", VIEW * 4 + "Piiiii", _BLOCK, by_block=True)
_STATS = Kernel("lf_colour_stats", "PPiiff", _BLOCK, by_block=True)

_BLOCK_WIDTH = 16 * CELL
_BLOCK_TOTALS = 13 * 4
_FIRM = round(FIRM_ALPHA * 255 * 4)


def colour_stats(
    kernels: Launcher,
    *,
    patch: Array,
    luma: Array,
    chroma: Array,
    x: int,
    y: int,
    momentum: float,
    stats: Array,
    cells: Array,
) -> None:
    """Measure the colours of a patch and of the frame under it; contract in ``reference.colour``.

    What lies outside the picture counts as transparent. Sums are whole numbers, the same in any order.
    """
    across, rows = -(-patch.shape[1] // _BLOCK_WIDTH), -(-patch.shape[0] // CELL)
    blocks = across * rows
    totals = kernels.scratch("colour_stats", blocks * _BLOCK_TOTALS)
    views = *view(patch), *view(luma), *view(chroma), *view(cells)
    kernels.launch(_CELLS, (across, rows, 1), *views, totals, x, y, _FIRM, across, blocks)
    kernels.launch(_STATS, (1, 1, 1), totals, address(stats), blocks, FEWEST_SAMPLES, momentum, JUMP)
