"""Rows whose elements lie side by side, told to the compiler.

Rows of a picture are dense even where there is padding behind each. Numba knows dense and strided arrays, but
no dense rows of a strided one, and does not vectorise what may have gaps: a blend of a plane takes five times
as long.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

Number = TypeVar("Number", bound=np.generic)

if TYPE_CHECKING:

    def dense(row: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """A one-dimensional array as one that is dense; for compiled code. That it is one is not checked."""
        ...

else:

    @intrinsic
    def dense(_typing: Any, row: Any) -> Any:
        """A one-dimensional array as one that is dense; for compiled code. That it is one is not checked."""
        if not isinstance(row, types.Array) or row.ndim != 1:
            return None
        result = types.Array(row.dtype, 1, "C", readonly=not row.mutable)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

        return result(row), generate
