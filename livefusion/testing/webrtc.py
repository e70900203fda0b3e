"""Counterparts for WebRTC: a peer that sends numbered pictures, one that reads them, and a relay that loses.

The number is burnt into the picture as bars, so that it survives every codec.
"""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Size

BITS = 16
"""Bars of the number; it counts up to 65,535 and begins anew."""
_DARK, _BRIGHT = 40, 210
_ROWS = 8
"""Height of the bars, at the bottom where no badge is: one part in so many of the picture."""


def burn_number(luma: npt.NDArray[np.uint8], number: int) -> None:
    """Write a number over the bottom of a picture's luma (h, w), most significant bit left, in place."""
    height, width = luma.shape
    edges = np.linspace(0, width, BITS + 1).astype(int)
    for bit in range(BITS):
        value = _BRIGHT if number >> (BITS - 1 - bit) & 1 else _DARK
        luma[height - height // _ROWS :, edges[bit] : edges[bit + 1]] = value


def read_number(luma: npt.NDArray[np.uint8]) -> int:
    """The number over the bottom of a picture's luma (h, w)."""
    height, width = luma.shape
    row = luma[height - height // _ROWS :].astype(np.float32)
    edges = np.linspace(0, width, BITS + 1).astype(int)
    middle = (_DARK + _BRIGHT) / 2
    number = 0
    for bit in range(BITS):
        left, right = edges[bit], edges[bit + 1]
        inset = (right - left) // 4
        number = number << 1 | int(row[row.shape[0] // 4 :, left + inset : right - inset].mean() > middle)
    return number


def numbered_picture(size: Size, number: int, texture: npt.NDArray[np.uint8] | None = None) -> Any:
    """An ``av.VideoFrame`` (yuv420p) with a number at the bottom; ``texture`` is its luma, else grey."""
    import av

    planes = np.full((size.height * 3 // 2, size.width), 128, np.uint8)
    if texture is not None:
        planes[: size.height] = texture
    burn_number(planes[: size.height], number % (1 << BITS))
    return av.VideoFrame.from_ndarray(planes, format="yuv420p")


Send = Callable[[bytes], Awaitable[None]]


class LossyRelay:
    """Stands between a sender and its transport and loses some of its RTP packets, by a seed or by number.

    ``lose`` are the numbers of packets, counted from 0 in the order they are sent; ``share`` is the part that
    is lost beside them. RTCP passes. ``first_repeats`` retransmissions are lost as well.
    """

    def __init__(
        self, *, lose: frozenset[int] = frozenset(), share: float = 0.0, seed: int = 1, first_repeats: int = 0
    ) -> None:
        self._lose = lose
        self.share = share
        """The part that is lost beside them; it may be changed at any time."""
        self._random = random.Random(seed)
        self._repeats = first_repeats
        self._repeat_type: int | None = None
        self.sent = 0
        self.lost = 0

    def stand_before(self, sender: Any) -> None:
        """Take the place of the transport of an aiortc sender, whose connection is up."""
        transport = sender.transport
        send: Send = transport._send_rtp
        self._repeat_type = sender._RTCRtpSender__rtx_payload_type

        async def relay(data: bytes) -> None:
            if not self._loses(data):
                await send(data)

        transport._send_rtp = relay

    def _loses(self, data: bytes) -> bool:
        kind = data[1] & 0x7F
        if 64 <= kind < 96:  # RTCP
            return False
        is_repeat = kind == self._repeat_type
        if is_repeat and self._repeats > 0:
            self._repeats -= 1
            self.lost += 1
            return True
        number, self.sent = self.sent, self.sent + 1
        lost = (not is_repeat and number in self._lose) or self._random.random() < self.share
        self.lost += lost
        return lost
