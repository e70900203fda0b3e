"""Words for the signatures of the compiled functions.

Signatures are spelled out so that a function is compiled when its module is loaded, once for dense and padded
rows and for read-only arrays alike; left to the first call, numba would compile each of these anew, for a
second each, in the middle of a live picture.
"""

READ_1D = "Array(uint8, 1, 'A', readonly=True)"
READ_2D = "Array(uint8, 2, 'A', readonly=True)"
READ_3D = "Array(uint8, 3, 'A', readonly=True)"
WRITE_2D = "uint8[:, :]"
WRITE_3D = "uint8[:, :, :]"
READ_FLOATS_2D = "Array(float32, 2, 'A', readonly=True)"
READ_FLOATS_3D = "Array(float32, 3, 'A', readonly=True)"
WRITE_FLOATS_2D = "float32[:, :]"
