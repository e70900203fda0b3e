"""How NVENC is set for latency."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from livefusion.core.errors import GraphError
from livefusion.core.geometry import Size
from livefusion.media.encode.keyframes import KEYFRAME_SECONDS

ARGUMENTS = frozenset(
    {
        "bf",
        "bitrate",
        "codec",
        "cudacontext",
        "cudastream",
        "fps",
        "gop",
        "gpu_id",
        "idrperiod",
        "maxbitrate",
        "preset",
        "rc",
        "repeatspspps",
        "tuning_info",
        "vbvbufsize",
        "vbvinit",
    }
)
"""Names that ``CreateEncoder`` knows and that are used here.

It makes strings of its arguments and passes over names that it does not know: a slip would change the latency
and never be told."""

_PRESET = "P3"
_BITS_PER_PIXEL = 0.12
_LOWEST_BITRATE, _HIGHEST_BITRATE = 1_000_000, 60_000_000


def bitrate_for(size: Size, fps: Fraction) -> int:
    """Bits a second for pictures of a size: 7 Mbit/s for 1080p30."""
    wanted = round(size.width * size.height * float(fps) * _BITS_PER_PIXEL)
    return min(max(wanted, _LOWEST_BITRATE), _HIGHEST_BITRATE)


def encoder_arguments(fps: Fraction, bitrate: int, *, gpu: int, stream: int) -> dict[str, Any]:
    """Arguments of ``CreateEncoder``: constant bitrate, no B-frames, each picture its share."""
    rate = max(1, round(fps))
    # Key frames go by media time, not by count: rates vary. This is only NVENC's own upper bound.
    longest = rate * KEYFRAME_SECONDS * 4
    arguments = {
        "gpu_id": gpu,
        "codec": "h264",
        "preset": _PRESET,
        "tuning_info": "ultra_low_latency",
        "rc": "cbr",
        "fps": rate,
        "gop": longest,
        "idrperiod": longest,
        "bf": 0,
        "repeatspspps": 1,
        "cudacontext": 0,
        "cudastream": stream,
    }
    return checked({**arguments, **rate_arguments(bitrate, rate)})


def rate_arguments(bitrate: int, fps: int) -> dict[str, int]:
    """The part of the arguments that follows the bitrate: the buffer holds one picture, and begins full."""
    share = bitrate // fps
    return {"bitrate": bitrate, "maxbitrate": bitrate, "vbvbufsize": share, "vbvinit": share}


def checked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments; ``GraphError`` if one of their names is none of ``ARGUMENTS``."""
    unknown = sorted(set(arguments) - ARGUMENTS)
    if unknown:
        raise GraphError(f"NVENC has no argument {', '.join(unknown)}")
    return dict(arguments)
