"""Finding the light that falls on the frame and not yet on the patch.

A block of threads for each row of cells blurs along it, for the narrow field and for the wide one; then one
for each column blurs along that, one field after the other, and mixes them.
"""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.colour import GAIN_LIMITS
from livefusion.ops.reference.light import LIGHT_PASSES, RIM_RANGE, TOLERANCE

_CODES = VIEW * 2 + "PPiiifffffff"
_BLOCK = (256, 1, 1)
_ROWS = Kernel("lf_light_rows", _CODES, _BLOCK, by_block=True)
_COLUMNS = Kernel("lf_light_columns", _CODES, _BLOCK, by_block=True)

LONGEST_LINE = 1024
"""Cells along the longest side of a patch: that of 8192 pixels."""
_FIELDS = 2
_FIVE_FLOATS = 20


def light_field(
    kernels: Launcher,
    *,
    cells: Array,
    stats: Array,
    radius: int,
    rim_radius: int,
    relight: float,
    rim: float,
    light: Array,
) -> None:
    """Find how the light of the frame differs from that of the patch; contract in ``reference.light``.

    ``ValueError`` if a side has more than ``LONGEST_LINE`` cells.
    """
    rows, columns = cells.shape[:2]
    if max(rows, columns) > LONGEST_LINE:
        raise ValueError(f"a light field of {columns} × {rows} cells has more than {LONGEST_LINE} a side")
    between = kernels.scratch("light_field", _FIELDS * rows * columns * _FIVE_FLOATS)
    arrays = *view(cells), *view(light), between, address(stats)
    values = *arrays, radius, rim_radius, LIGHT_PASSES, *GAIN_LIMITS, relight, rim, *RIM_RANGE, TOLERANCE
    kernels.launch(_ROWS, (rows, _FIELDS, 1), *values)
    kernels.launch(_COLUMNS, (columns, 1, 1), *values)
