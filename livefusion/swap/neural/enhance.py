"""The new face restored in the live picture: sharper eyes, teeth and skin than a small network draws.

What is restored is the face as it would be pasted, seen in the crop that the network was trained on. Only
the colours of the patch change by it: its mask, what is cut out of it, light and grain are found as without.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import similarity_onto
from livefusion.core.errors import ModelError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Box, Region, Size
from livefusion.core.patch import Patch
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.catalog import ModelFile
from livefusion.inference.network import BoundNetwork
from livefusion.inference.session import Session
from livefusion.ops.registry import BLEND_YUVA, CROP_OF_TENSOR, NV12_WARP_NORM, REFINE_PATCH
from livefusion.swap.neural.restore import restore_contract, restore_sizes, weight_shape
from livefusion.swap.neural.selftest import widened_after
from livefusion.swap.neural.template import template
from livefusion.swap.neural.verdict import Verdict

FIDELITY: Final = 0.5
"""How near CodeFormer stays to what it is given: its authors' middle."""
_FEATHER: Final = 0.05
"""Of the crop's side: towards its border the patch stays more and more as it was."""
_LEAST_SPREAD: Final = 1 / 255
_MARGIN: Final = 2
"""Pixels round the crop that sampling may touch."""
_TRIES: Final = 3

Points = npt.NDArray[np.float64]
"""(5, 2) alignment points of a face."""
LoadSession = Callable[..., Session]
"""Of a device, a model, and an entry to be loaded in place of the model's own, if there is one."""


class PatchRestorer:
    """One network on fixed buffers. Used on one thread and one stream.

    ``ModelError`` if the file restores no faces; raises what ``load`` does.
    """

    def __init__(self, device: Device, model: ModelFile, load: LoadSession) -> None:
        self._device = device
        self._model = model
        self._load = load
        self.name = model.name
        self._contract = restore_contract(model)
        self.session = load(device, model)
        self._sizes = restore_sizes(self._contract, self.session)
        self._network = self._bind()
        self._points = template(self._contract.template, self._sizes.taken)
        self._crop: Array = device.empty((self._sizes.given, self._sizes.given, 4), np.uint8)
        self._whole: Array = device.empty((2, 2, 4), np.uint8)
        self._bad: Array = device.empty((1,), np.int32)
        self._no_faults = device.pinned((1,), np.int32)
        self._no_faults[0] = 0
        self._seen: tuple[Size, Array, Array] | None = None
        self._verdict = Verdict(device, model.name, "the face stays as it was")
        self.restored = 0
        """How many faces were given to the network."""

    def _bind(self) -> BoundNetwork:
        contract, taken, given = self._contract, self._sizes.taken, self._sizes.given
        weight = contract.weight
        return BoundNetwork(
            self._device,
            self.session,
            self.name,
            (1, 3, taken, taken),
            {contract.output: (1, 3, given, given)},
            to_host=False,
            image_name=contract.image.name,
            beside={weight.name: weight_shape(weight)} if weight else None,
        )

    @property
    def bad(self) -> int:
        """How many of its answers were not shown."""
        return self._verdict.count

    def try_out(self, clock: Clock) -> float:
        """Run on smooth waves and compile what is needed; the seconds that a run takes, the least of three.

        Where halves give no picture it runs in float32 from then on. ``ModelError`` if none comes out.
        """
        try:
            return self._try_out(clock)
        except ModelError as error:
            wide = widened_after(error, self._model, self.session)
            if wide is None:
                raise
            self.session = self._load(self._device, self._model, wide)
            self._network = self._bind()
            return self._try_out(clock)

    def _try_out(self, clock: Clock) -> float:
        device, stream = self._device, self._device.stream("warm-up")
        device.prepare(NV12_WARP_NORM, CROP_OF_TENSOR, REFINE_PATCH, BLEND_YUVA)
        device.copy(self._whole, np.full((2, 2, 4), 255, np.uint8), stream)
        image, contract = self._network.image, self._contract
        waves = (_waves(self._sizes.taken) * 127.5 + 127.5 - contract.middle) / contract.span
        device.copy(image, waves.astype(image.dtype), stream)
        for weight in self._network.beside.values():
            device.copy(weight, np.full(weight.shape, FIDELITY, weight.dtype), stream)
        stream.synchronize()
        took = []
        for _ in range(_TRIES):
            before = clock.now_ns()
            self._network.launch(stream)
            stream.synchronize()
            took.append(clock.now_ns() - before)
        found = self._network.kept(self._contract.output)
        answer = device.pinned(found.shape, found.dtype)
        device.copy(answer, found, stream)
        stream.synchronize()
        shown = np.clip(answer.astype(np.float32) * contract.span + contract.middle, 0, 255) / 255
        if not np.isfinite(answer).all() or float(shown.std()) < _LEAST_SPREAD:
            raise ModelError(f"{self.name} gives no picture here", "get another file of it, or use fp32")
        return min(took) / NANOSECONDS

    def restore(self, frame: Frame, patch: Patch, points: Points, share: float, stream: Stream) -> None:
        """Bring the colours of a patch by ``share`` in [0, 1] to those of the restored face, in stream order.

        Where the network gives no picture the patch stays as it is.
        """
        if self._verdict.given_up():
            return
        to_crop = similarity_onto(points, self._points)
        stream.wait(patch.ready)
        luma, chroma = self._pasted(frame, patch, to_crop, stream)
        arguments = {
            "luma": luma,
            "chroma": chroma,
            "out": self._network.image,
            "matrices": (to_crop,),
            "color": frame.color,
            "mean": self._contract.middle,
            "scale": 1 / self._contract.span,
        }
        self._device.launch(NV12_WARP_NORM, arguments, stream)
        self._network.launch(stream)
        self._device.copy(self._bad, self._no_faults, stream)
        answer = {
            "tensor": self._network.kept(self._contract.output)[0],
            "mask": self._whole,
            "crop": self._crop,
            "bad": self._bad,
            "color": frame.color,
            "gain": self._contract.span,
            "offset": self._contract.middle,
            "feather": max(1, round(_FEATHER * self._sizes.given)),
        }
        self._device.launch(CROP_OF_TENSOR, answer, stream)
        # From the pixels of the patch, which begin at its region.
        place = self._sizes.to_answer(to_crop).after(Affine([[1, 0, patch.region.x], [0, 1, patch.region.y]]))
        moved = {"crop": self._crop, "bad": self._bad, "to_crop": place, "share": share}
        self._device.launch(REFINE_PATCH, moved | {"patch": patch.pixels}, stream)
        self.restored += 1
        self._verdict.note(self._bad, frame, stream)

    def _pasted(self, frame: Frame, patch: Patch, to_crop: Affine, stream: Stream) -> tuple[Array, Array]:
        """The planes of a picture with the patch pasted in, as far as the crop sees it."""
        luma, chroma = self._planes(frame)
        side = self._sizes.taken
        corners = to_crop.inverse()(np.array([[0, 0], [side, 0], [0, side], [side, side]], np.float64))
        seen = Box.around(np.concatenate([corners - _MARGIN, corners + _MARGIN]))
        region = Region.covering(seen, frame.size)
        for plane, source, part in (
            (luma, frame.buffer.luma, region.luma),
            (chroma, frame.buffer.chroma, region.chroma),
        ):
            self._device.copy(plane[part], source[part], stream)
        place = {"x": patch.region.x, "y": patch.region.y}
        pasted = {"luma": luma, "chroma": chroma, "patch": patch.pixels}
        self._device.launch(BLEND_YUVA, pasted | place, stream)
        return luma, chroma

    def _planes(self, frame: Frame) -> tuple[Array, Array]:
        if self._seen is None or self._seen[0] != frame.size:
            size = frame.size
            luma = self._device.empty((size.height, size.width), np.uint8)
            chroma = self._device.empty((size.height // 2, size.width // 2, 2), np.uint8)
            self._seen = size, luma, chroma
        return self._seen[1], self._seen[2]


def _waves(side: int) -> npt.NDArray[np.float32]:
    """(1, 3, side, side) in −1..1: a picture without edges, the same each time."""
    y, x = (np.mgrid[0:side, 0:side] / side).astype(np.float32)
    return np.stack([0.6 * np.sin(5 * x + k) * np.cos(4 * y - k) for k in range(3)])[None].astype(np.float32)
