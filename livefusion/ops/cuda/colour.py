"""Measuring what gives a patch the colours and the light of the frame below it.

Blocks of threads measure rows of cells, one more adds up what they found; the light is blurred by a block for
each row of cells, then one for each column.
"""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.colour import CELL, FEWEST_SAMPLES, FIRM_ALPHA, GAIN_LIMITS, LIGHT_PASSES

_BLOCK = (256, 1, 1)
_CELLS = Kernel("lf_colour_cells", VIEW * 4 + "Piiiii", _BLOCK, by_block=True)
_STATS = Kernel("lf_colour_stats", "PPiif", _BLOCK, by_block=True)
_ROWS = Kernel("lf_light_rows", VIEW * 2 + "PPiifff", _BLOCK, by_block=True)
_COLUMNS = Kernel("lf_light_columns", VIEW * 2 + "PPiifff", _BLOCK, by_block=True)

LONGEST_LINE = 1024
"""Cells along the longest side of a patch: that of 8192 pixels."""
_BLOCK_WIDTH = 16 * CELL
_BLOCK_TOTALS = 13 * 4
_FOUR_FLOATS = 16
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
    kernels.launch(_STATS, (1, 1, 1), totals, address(stats), blocks, FEWEST_SAMPLES, momentum)


def light_field(kernels: Launcher, *, cells: Array, stats: Array, radius: int, light: Array) -> None:
    """Find how the light of the frame differs from that of the patch; contract in ``reference.colour``.

    ``ValueError`` if a side has more than ``LONGEST_LINE`` cells.
    """
    rows, columns = cells.shape[:2]
    if max(rows, columns) > LONGEST_LINE:
        raise ValueError(f"a light field of {columns} × {rows} cells has more than {LONGEST_LINE} a side")
    between = kernels.scratch("light_field", rows * columns * _FOUR_FLOATS)
    arrays = *view(cells), *view(light), between, address(stats)
    values = *arrays, radius, LIGHT_PASSES, *GAIN_LIMITS, 1 / (2 * radius + 1)
    kernels.launch(_ROWS, (rows, 1, 1), *values)
    kernels.launch(_COLUMNS, (columns, 1, 1), *values)
