"""The list of pixel operators: one name, one contract, one body for each kind of device.

An operator named ``blend_yuva`` of module ``paste`` is the function ``blend_yuva`` in
``livefusion.ops.reference.paste`` (NumPy, slow and plain: the definition), in ``livefusion.ops.cpu.paste``
(fast) and on CUDA in ``livefusion.ops.cuda.paste``. All take the same keyword arguments, on CUDA after the
``Launcher`` of their kernels, write into arrays they are given, and return nothing. The contract is the
docstring of the reference. One parametrised test (``tests/ops/test_conformance.py``) holds the bodies
together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import cast

from livefusion.core.errors import DeviceError
from livefusion.devices.device import BodyKind


@cache
def _load(kind: BodyKind, module: str, name: str) -> Callable[..., None]:
    try:
        return cast("Callable[..., None]", getattr(import_module(f"livefusion.ops.{kind}.{module}"), name))
    except (ImportError, AttributeError) as error:
        raise DeviceError(f"operator {name} has no body for {kind}", "use another --device") from error


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """Name, home and data flow of one operator."""

    name: str
    module: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def body(self, kind: BodyKind) -> Callable[..., None]:
        """The function that does the work; ``DeviceError`` if that kind of device has none."""
        return _load(kind, self.module, self.name)


NV12_WARP_NORM = OperatorSpec("nv12_warp_norm", "warp", reads=("luma", "chroma"), writes=("out",))
LETTERBOX_NV12 = OperatorSpec("letterbox_nv12", "letterbox", reads=("luma", "chroma"), writes=("out",))
NV12_TO_RGB = OperatorSpec("nv12_to_rgb", "convert", reads=("luma", "chroma"), writes=("rgb",))
RGB_TO_NV12 = OperatorSpec("rgb_to_nv12", "convert", reads=("rgb",), writes=("luma", "chroma"))
BLUR_REGION = OperatorSpec("blur_region", "blur", reads=("luma", "chroma"), writes=("luma", "chroma"))
BLEND_YUVA = OperatorSpec("blend_yuva", "paste", reads=("patch", "luma", "chroma"), writes=("luma", "chroma"))
BLEND_MATCHED = OperatorSpec(
    "blend_matched",
    "paste",
    reads=("patch", "stats", "light", "detail", "luma", "chroma"),
    writes=("luma", "chroma"),
)
FILL_REGION = OperatorSpec("fill_region", "plane", reads=(), writes=("luma", "chroma"))
ADD_PLANE = OperatorSpec("add_plane", "plane", reads=("luma", "delta", "gains"), writes=("luma",))
SCALE_NV12 = OperatorSpec("scale_nv12", "scale", reads=("luma", "chroma"), writes=("out_luma", "out_chroma"))
TURN_NV12 = OperatorSpec("turn_nv12", "turn", reads=("luma", "chroma"), writes=("out_luma", "out_chroma"))
OCCLUSION_MATTE = OperatorSpec("occlusion_matte", "matte", reads=("found", "image"), writes=("matte",))
BARE_OF_TENSOR = OperatorSpec("bare_of_tensor", "matte", reads=("tensor", "matte"), writes=("matte",))
OCCLUSION_TRACK = OperatorSpec(
    "occlusion_track", "occlusion", reads=("found", "patch", "belief"), writes=("belief", "cover", "share")
)
OCCLUDE = OperatorSpec("occlude", "occlusion", reads=("cover", "share", "patch"), writes=("patch",))
DRAW_MESH = OperatorSpec(
    "draw_mesh",
    "raster",
    reads=("vertices", "depth", "uv", "weight", "triangles", "texture"),
    writes=("patch",),
)
CROP_OF_TENSOR = OperatorSpec(
    "crop_of_tensor", "crop", reads=("tensor", "mask", "bad"), writes=("crop", "bad")
)
LIMIT_ALPHA = OperatorSpec("limit_alpha", "crop", reads=("limit", "crop", "bad"), writes=("crop", "bad"))
PATCH_OF_CROP = OperatorSpec("patch_of_crop", "crop", reads=("crop", "bad", "patch"), writes=("patch",))
REFINE_PATCH = OperatorSpec("refine_patch", "crop", reads=("crop", "bad", "patch"), writes=("patch",))
COLOUR_STATS = OperatorSpec(
    "colour_stats", "colour", reads=("patch", "luma", "chroma", "stats"), writes=("stats", "cells")
)
MEASURE_DETAIL = OperatorSpec(
    "measure_detail", "detail", reads=("patch", "luma", "detail"), writes=("detail",)
)
SOFTEN_PATCH = OperatorSpec("soften_patch", "detail", reads=("patch", "detail"), writes=("patch",))
LIGHT_FIELD = OperatorSpec("light_field", "light", reads=("cells", "stats"), writes=("light",))
MIX_TEXELS = OperatorSpec("mix_texels", "texels", reads=("base", "deltas"), writes=("out",))
MASK_FEATHER = OperatorSpec("mask_feather", "feather", reads=("patch",), writes=("patch",))


def all_operators() -> tuple[OperatorSpec, ...]:
    """Every operator there is."""
    return tuple(value for value in globals().values() if isinstance(value, OperatorSpec))
