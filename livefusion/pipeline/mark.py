"""The watermark in every picture that leaves the graph."""

import logging
import secrets
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.registry import ADD_PLANE
from livefusion.pipeline.beside import run_beside
from livefusion.provenance.chips import EPOCHS, epoch_at
from livefusion.provenance.keys import WATERMARK_KEY_BYTES, OperatorKey
from livefusion.provenance.watermark import Payload, Watermark, WatermarkKey, mark_gains, mark_plane

_log = logging.getLogger(__name__)

Lay = tuple[Watermark, Size, int]
"""What is laid over a picture: the mark, in a size, for an epoch."""


def operator_mark_key(operator: OperatorKey) -> WatermarkKey:
    """The watermark's key of an operator, known by the first byte of the operator's name."""
    return WatermarkKey(operator.watermark_key(), int(operator.id[:2], 16))


def new_mark() -> Watermark:
    """The watermark of a run that begins now, under the operator's key, which is made if there is none.

    Where none can be kept the mark can be found all the same, and nobody can read its payload.
    """
    try:
        key = operator_mark_key(OperatorKey.load())
    except IdentityError as error:
        _log.warning("the watermark of this run cannot be traced to it: %s", error)
        key = WatermarkKey(secrets.token_bytes(WATERMARK_KEY_BYTES), 0)
    return Watermark(key, Payload.of_new_session(key))


def no_mark() -> None:
    """None, for measurements that hold a picture against the camera's, byte for byte; never for a run."""


class MarkStamp:
    """Adds the mark in place; its plane is made anew for each epoch, on a thread beside, one epoch ahead.

    Belongs to one stream, and whoever uses that.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._gains: Array = None
        self._plane: Array = None
        self._drawn: Lay | None = None
        self._coming: tuple[Lay, Future[npt.NDArray[np.int8]]] | None = None

    def prepare(self) -> None:
        """Compile what the first frame would have to wait for."""
        self._device.prepare(ADD_PLANE)

    def stamp(self, frame: Frame, mark: Watermark, stream: Stream) -> None:
        """Mark a frame."""
        self.lay(frame.buffer.luma, (mark, frame.size, epoch_at(frame.ts.seconds)), stream)

    def lay(self, luma: Array, key: Lay, stream: Stream) -> None:
        """Mark a picture by its (height, width) uint8 luma, whatever its time."""
        if key != self._drawn:
            self._draw(key, stream)
        arguments: dict[str, Any] = {"luma": luma, "delta": self._plane, "gains": self._gains}
        self._device.launch(ADD_PLANE, arguments, stream)

    def _draw(self, key: Lay, stream: Stream) -> None:
        coming, self._coming = self._coming, None
        plane = coming[1].result() if coming is not None and coming[0] == key else mark_plane(*key)
        if self._gains is None:
            gains = mark_gains()
            self._gains = self._device.empty(gains.shape, gains.dtype)
            self._device.copy(self._gains, gains, stream)
        if self._plane is None or self._plane.shape != plane.shape:
            self._plane = self._device.empty(plane.shape, plane.dtype)
        self._device.copy(self._plane, plane, stream)
        self._drawn = key
        mark, size, epoch = key
        following = (mark, size, (epoch + 1) % EPOCHS)
        self._coming = following, run_beside(partial(mark_plane, *following))
