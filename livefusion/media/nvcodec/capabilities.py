"""What the video engines of one GPU can do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from livefusion.core.geometry import Size

CODECS = ("h264", "hevc", "vp9", "av1")
"""Codecs, by FFmpeg's names, that are decoded on the GPU where it can."""
CODEC_NAMES = {"h264": "H.264", "hevc": "HEVC", "vp9": "VP9", "av1": "AV1"}
"""Their names for people."""

NO_NVENC = "this GPU has no NVENC, as A100, H100 and H200 have none"


@dataclass(frozen=True, slots=True)
class Engine:
    """Smallest and largest picture that an engine takes, and how many such engines there are."""

    smallest: Size
    largest: Size
    count: int = 1

    def refusal(self, size: Size) -> str:
        """Why it does not take pictures of a size, or nothing if it does."""
        if size.width > self.largest.width or size.height > self.largest.height:
            return f"it takes up to {self.largest}, not {size}"
        if size.width < self.smallest.width or size.height < self.smallest.height:
            return f"it takes {self.smallest} and more, not {size}"
        return ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Decoders of 8-bit 4:2:0 by codec, the H.264 encoder, and why there are none of the one or the other."""

    decoders: Mapping[str, Engine] = field(default_factory=dict)
    encoder: Engine | None = None
    no_decoder: str = ""
    no_encoder: str = ""

    def decoder_refusal(self, codec: str, size: Size) -> str:
        """Why a stream is not decoded on the GPU, or nothing if it can be."""
        if self.no_decoder:
            return self.no_decoder
        if codec not in self.decoders:
            return f"this GPU does not decode {CODEC_NAMES.get(codec, codec)}"
        return self.decoders[codec].refusal(size)

    def encoder_refusal(self, size: Size) -> str:
        """Why pictures are not encoded on the GPU, or nothing if they can be."""
        if self.encoder is None:
            return self.no_encoder or NO_NVENC
        return self.encoder.refusal(size)
