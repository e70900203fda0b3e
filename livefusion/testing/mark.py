"""Watermarks for runs whose pixels are compared."""

from livefusion.pipeline.mark import no_mark
from livefusion.provenance.watermark import Payload, Watermark, WatermarkKey

__all__ = ["FIXED_MARK", "fixed_mark", "no_mark"]

FIXED_MARK = Watermark(WatermarkKey(b"a key that everybody who reads this knows", 7), Payload(0x5EED, 7))


def fixed_mark() -> Watermark:
    """The same mark each time: two runs of the same pictures then have the same pixels."""
    return FIXED_MARK
