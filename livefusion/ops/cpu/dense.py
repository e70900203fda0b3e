"""Rows whose elements lie side by side, told to the compiler.

Rows of a picture are dense even where there is padding behind each. Numba knows dense and strided arrays, but
no dense rows of a strided one, and does not vectorise what may have gaps: a blend of a plane takes five times
as long. And each cut of an array counts its owners up and down, which is nothing for a plane and a third of
the time for rows.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite.ir import Constant  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_ALPHA = np.uint32(0xFF000000)

Number = TypeVar("Number", bound=np.generic)

if TYPE_CHECKING:

    def dense(row: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """A one-dimensional array as a dense one without an owner, for compiled code.

        That it is dense is not checked, nor that it is kept: let it be part of an argument.
        """
        ...

else:

    def _unowned(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = make_array(signature.return_type)(context, builder, arguments[0])
        array.meminfo = Constant(array.meminfo.type, None)
        return array._getvalue()

    @intrinsic
    def dense(_typing: Any, row: Any) -> Any:
        """A one-dimensional array as a dense one without an owner, for compiled code.

        That it is dense is not checked, nor that it is kept: let it be part of an argument.
        """
        if not isinstance(row, types.Array) or row.ndim != 1:
            return None
        return types.Array(row.dtype, 1, "C", readonly=not row.mutable)(row), _unowned


@njit(cache=True, nogil=True)
def span(upper: npt.NDArray[np.uint32], lower: npt.NDArray[np.uint32]) -> tuple[int, int]:
    """The even columns between which two rows of a patch have alpha."""
    first, last = 0, upper.shape[0]
    while first < last and not (upper[first] | lower[first]) & _ALPHA:
        first += 1
    while last > first and not (upper[last - 1] | lower[last - 1]) & _ALPHA:
        last -= 1
    return first - first % 2, last + last % 2
