"""Watermarks for runs whose pixels are compared."""

import numpy as np
import numpy.typing as npt

from livefusion.core.frame import Frame
from livefusion.ops.reference.plane import add_plane
from livefusion.pipeline.mark import no_mark
from livefusion.provenance.badge import SLATE_TEXT, slate
from livefusion.provenance.chips import epoch_at
from livefusion.provenance.watermark import Payload, Watermark, WatermarkKey, mark_gains, mark_plane

Plane = npt.NDArray[np.uint8]

__all__ = ["FIXED_MARK", "fixed_mark", "marked_slate", "no_mark"]

FIXED_MARK = Watermark(WatermarkKey(b"a key that everybody who reads this knows", 7), Payload(0x5EED, 7))


def fixed_mark() -> Watermark:
    """The same mark each time: two runs of the same pictures then have the same pixels."""
    return FIXED_MARK


def marked_slate(frame: Frame, mark: Watermark, text: str = SLATE_TEXT) -> Plane:
    """The luma (h, w) of the slate in place of a frame, made by other means than a run makes it."""
    luma = slate(frame.size, frame.color, text)[0].copy()
    add_plane(luma, mark_plane(mark, frame.size, epoch_at(frame.ts.seconds)), mark_gains())
    return luma
