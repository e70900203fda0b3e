"""Aligned crops of many faces in many frames by DALI, for files: one run for the whole batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine, Size
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.dali.colour import colour_matrix, to_tensor
from livefusion.ops.dali.half_pixel import to_half_pixel
from livefusion.ops.dali.library import Dali, load_dali
from livefusion.ops.dali.pipe import Batch, Graph, Pipe, graph_place
from livefusion.ops.preprocess import Normalisation, Nv12, check_count
from livefusion.ops.yuv import chroma_origin


@dataclass(frozen=True, slots=True, eq=False)
class Crop:
    """One face of one picture; ``matrix`` maps the picture's pixels to those of the crop."""

    picture: Nv12
    matrix: Affine


class DaliCrops:
    """Cuts up to ``batch`` crops of one size in one run, to the meaning of ``NV12_WARP_NORM``.

    N faces in M frames are N·M crops; a frame with several faces is given with each. At batch 1 DALI costs
    the host ten times what the fused kernel does, so the live path cuts with ``NV12_WARP_NORM``. It agrees
    with the reference to 0.05 grey levels. For one thread at a time. ``DeviceError`` without DALI.
    """

    def __init__(
        self, device: Device, size: Size, batch: int, normalisation: Normalisation | None = None
    ) -> None:
        dali = load_dali()
        self._device = device
        self._how = normalisation or Normalisation(order="rgb")
        self._batch = batch
        self._pipe = Pipe(dali, _graph(dali, device, size, self._how), device, batch)

    def fill(self, crops: Sequence[Crop], out: Array, stream: Stream) -> None:
        """Cut n crops into ``out``, float32 (n, 3, H, W), in stream order.

        ``ValueError`` if the numbers differ, are above ``batch``, or a matrix cannot be inverted.
        """
        check_count(len(crops), out)
        if len(crops) > self._batch:
            raise ValueError(f"{len(crops)} crops are more than the {self._batch} of the batch")
        pictures = [crop.picture for crop in crops]
        planes = {"luma": [p.luma for p in pictures], "chroma": [p.chroma for p in pictures]}
        self._device.run(
            partial(self._pipe.run, planes, self._parameters(crops), out, stream),
            stream,
            reads=tuple(plane for p in pictures for plane in (p.luma, p.chroma)),
            writes=(out,),
            name="dali crops",
        )

    def _parameters(self, crops: Sequence[Crop]) -> dict[str, Batch]:
        maps = [sampling_maps(crop.matrix, crop.picture.color) for crop in crops]
        return {
            "luma map": [luma for luma, _ in maps],
            "chroma map": [chroma for _, chroma in maps],
            "matrix": [colour_matrix(crop.picture.color, self._how.order) for crop in crops],
        }


def sampling_maps(
    matrix: Affine, color: ColorInfo
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """From crop to luma and to chroma samples in DALI's coordinates, float32 (2, 3) each."""
    to_luma = matrix.inverse()
    x, y = chroma_origin(color.siting)
    to_chroma = Affine(np.array([[0.5, 0.0, -x / 2], [0.0, 0.5, -y / 2]])).after(to_luma)
    return to_half_pixel(to_luma), to_half_pixel(to_chroma)


def _graph(dali: Dali, device: Device, size: Size, how: Normalisation) -> Graph:
    def graph() -> Any:
        place = graph_place(device)
        fn, types = dali.fn, dali.types
        shape = (size.height, size.width)

        def sampled(plane: str) -> Any:
            samples = fn.external_source(
                name=plane, device=place, layout="HWC", dtype=types.UINT8, no_copy=place == "cpu"
            )
            sampling = fn.external_source(name=f"{plane} map", dtype=types.FLOAT, ndim=2)
            return fn.warp_affine(samples, matrix=sampling, size=shape, dtype=types.FLOAT)

        matrix = fn.external_source(name="matrix", dtype=types.FLOAT, ndim=2)
        planes = (sampled("luma"), sampled("chroma"))
        return to_tensor(dali, planes, matrix, how=how, size=shape)

    return graph
