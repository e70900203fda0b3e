"""What a swap engine gives back: a new face, not yet coloured like the scene nor blended into it."""

from dataclasses import dataclass
from typing import Any

from livefusion.core.geometry import Region


@dataclass(frozen=True, slots=True)
class Patch:
    """A new face on the pixel grid of the frame.

    ``pixels`` is a (region.height, region.width, 4) uint8 array of the device: Y, Cb, Cr in the colour
    description of the frame (4:4:4), and alpha (0 keeps the frame, 255 replaces it). ``ready`` is the
    device event after which it may be read, None where what the caller's stream does next comes after it
    anyway. The pixels are valid until the engine's next ``swap`` for the same track.
    """

    region: Region
    pixels: Any
    ready: Any = None
