"""Bytes of device memory that a graph moves, counted where work is put on a device.

What a kernel reads again while it runs comes from a cache, so each byte that it touches counts once as read
and once as written. A copy within the device counts twice, one from or to the host once.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Affine, Box, Size
from livefusion.devices.device import Array, Device, Operator, Stream
from livefusion.ops.fit import letterbox_rows, letterbox_size

_NV12 = 1.5
"""Bytes of a pixel."""
_TAPS = 12
"""Bytes of the four neighbours in NV12 whose mean is sampled."""
_BATCHED = 4
"""Axes of a tensor for several faces."""
_CELL_SCRATCH = 2 * 2 * 20
"""Bytes a cell that the blurs of the light fields write between rows and columns, and read again."""

Arguments = Mapping[str, Any]


class TrafficDevice:
    """Passes everything on to another device, and counts in ``moved`` the bytes by stream and work."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._pinned: list[tuple[int, int]] = []
        self.moved: Counter[str] = Counter()

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Memory of the host, which is none of the device's."""
        array = self._device.pinned(shape, dtype)
        self._pinned.append(np.lib.array_utils.byte_bounds(array))
        return array

    def copy(self, dst: Array, src: Array, stream: Stream) -> None:
        """Count and copy."""
        sides = 2 - self._is_pinned(dst) - self._is_pinned(src)
        self.moved[f"{stream.name}: copy"] += dst.nbytes * max(1, sides)
        self._device.copy(dst, src, stream)

    def launch(self, operator: Operator, arguments: Arguments, stream: Stream) -> None:
        """Count and launch."""
        self.moved[f"{stream.name}: {operator.name}"] += bytes_moved(operator, arguments)
        self._device.launch(operator, arguments, stream)

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Count what goes into the work and comes out of it, and run it."""
        self.moved[f"{stream.name}: {name}"] += _sizes(*reads, *writes)
        self._device.run(work, stream, reads=reads, writes=writes, name=name)

    def _is_pinned(self, array: Array) -> bool:
        low, _ = np.lib.array_utils.byte_bounds(array)
        return any(start <= low < end for start, end in self._pinned)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)


def bytes_moved(operator: Operator, arguments: Arguments) -> int:
    """What one launch of an operator's kernels moves at most."""
    special = _SPECIAL.get(operator.name)
    if special is not None:
        return round(special(arguments))
    return _sizes(*(arguments[name] for name in (*operator.reads, *operator.writes)))


def _sizes(*arrays: Array) -> int:
    return sum(array.nbytes for array in arrays)


def _warp(a: Arguments) -> float:
    out: Array = a["out"]
    size = _size(a["luma"])
    rows, columns = out.shape[-2:] if a.get("layout", "chw") == "chw" else out.shape[-3:-1]
    read = sum(_sampled(matrix, columns, rows, size) for matrix in a["matrices"])
    faces = out.shape[0] if out.ndim == _BATCHED else 1
    return read + float(out.nbytes) * len(a["matrices"]) / faces


def _size(luma: Array) -> Size:
    height, width = luma.shape
    return Size(width, height)


def _sampled(to_crop: Affine, columns: int, rows: int, size: Size) -> float:
    """Bytes of a picture that an upright crop is sampled from."""
    corners = np.array([[0, 0], [columns, 0], [0, rows], [columns, rows]], np.float64)
    box = Box.around(to_crop.inverse()(corners))
    share = box.clipped(size).area / box.area
    area = columns * rows / abs(float(np.linalg.det(to_crop.matrix[:, :2])))
    return share * min(_NV12 * area, _TAPS * columns * rows)


def _letterbox(a: Arguments) -> float:
    luma, chroma, out = a["luma"], a["chroma"], a["out"]
    height, width = out.shape[-2:] if a.get("layout", "chw") == "chw" else out.shape[:2]
    inner = letterbox_size(_size(luma), Size(width, height))
    of_luma, of_chroma = letterbox_rows(luma.shape[0], chroma.shape[0], inner.height)
    return _sizes(luma[of_luma.slice], chroma[of_chroma.slice], out)


def _draw(a: Arguments) -> float:
    # Each pixel looks up four bytes of each of four texels, all of them no more than there are.
    texels = min(a["texture"].nbytes, 4 * a["patch"].nbytes)
    mesh = (a[name] for name in ("vertices", "depth", "uv", "weight", "triangles"))
    return _sizes(*mesh, a["patch"]) + float(texels)


def _occlusion(a: Arguments) -> float:
    # The patch is looked at once for each pixel of the crop.
    read = min(4 * a["cover"].nbytes, a["patch"].nbytes)
    return _sizes(a["found"], a["belief"], a["belief"], a["cover"], a["share"]) + float(read)


def _under(a: Arguments) -> float:
    """Pixels of the picture under a patch."""
    height, width = a["patch"].shape[:2]
    return Box(a["x"], a["y"], width, height).clipped(_size(a["luma"])).area


def _stats(a: Arguments) -> float:
    return _sizes(a["patch"], a["cells"]) + _NV12 * _under(a)


def _light(a: Arguments) -> float:
    cells = a["cells"].shape[0] * a["cells"].shape[1]
    return _sizes(a["cells"], a["light"]) + float(cells) * _CELL_SCRATCH


def _blend(a: Arguments) -> float:
    return (4 + 2 * _NV12) * _under(a)


def _matched(a: Arguments) -> float:
    return _blend(a) + _sizes(a["stats"], a["light"], a["detail"])


def _detail(a: Arguments) -> float:
    # A square of 5 x 5 pixels of either picture in each place, no more than all of them.
    places: float = _under(a) / a["step"] ** 2
    return 2 * _sizes(a["detail"]) + 5 * min(_under(a), 25 * places)


def _soften(a: Arguments) -> float:
    return 4.0 * _sizes(a["patch"]) + _sizes(a["detail"])  # rows into a scratch, columns back


def _box(a: Arguments) -> float:
    grown = 2 * a.get("feather", 0)
    left, top = a["x"] - grown / 2, a["y"] - grown / 2
    return Box(left, top, a["width"] + grown, a["height"] + grown).clipped(_size(a["luma"])).area


def _blur(a: Arguments) -> float:
    return 3 * _NV12 * _box(a)  # read for the means, then read and written


def _fill(a: Arguments) -> float:
    return _NV12 * _box(a)


def _add(a: Arguments) -> float:
    return 3.0 * int(a["delta"].size) + int(a["gains"].size)  # the second reading of the luma is the cache's


def _mix(a: Arguments) -> float:
    size = _sizes(a["deltas"])
    return size * (1 + 2 / len(a["weights"]))


_SPECIAL: dict[str, Callable[[Arguments], float]] = {
    "letterbox_nv12": _letterbox,
    "nv12_warp_norm": _warp,
    "draw_mesh": _draw,
    "occlusion_track": _occlusion,
    "colour_stats": _stats,
    "light_field": _light,
    "blend_yuva": _blend,
    "blend_matched": _matched,
    "measure_detail": _detail,
    "soften_patch": _soften,
    "blur_region": _blur,
    "fill_region": _fill,
    "add_plane": _add,
    "mix_texels": _mix,
}
"""Operators of which a kernel does not touch all of its arrays, or touches more than them."""
