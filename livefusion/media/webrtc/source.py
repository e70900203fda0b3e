"""The picture of a peer as a source of the graph."""

import logging
from collections import deque
from fractions import Fraction
from typing import Any

from livefusion.core.color import ColorInfo
from livefusion.core.events import Discontinuity, Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.outlet import CLOCK_RATE, TIME_BASE
from livefusion.media.formats import InputFormat
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.webrtc.card import waiting_card
from livefusion.media.webrtc.decode import Decoding
from livefusion.media.webrtc.inlet import Inlet, ReceivedPicture, SenderGone
from livefusion.media.webrtc.live_sound import LiveSound
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)

SIZE, FPS = Size(1280, 720), Fraction(30)
"""What is announced before anybody sends, unless another size and rate are asked for."""
_RTP_CYCLE = 1 << 32


class WebRtcSource:
    """Waits for whoever sends, and for the next one when they are gone.

    When they leave, a card takes the place of their last picture, which shall not be looked at for ever.
    Its size and rate are announced before anybody is there, so that the graph and its outputs run already;
    pictures that are of another size give a ``FormatChange``. ``captured_ns`` is when the first packet of a
    picture came. It ends after ``duration`` seconds of media time, which counts from the first picture.
    """

    def __init__(
        self,
        inlet: Inlet,
        device: Device,
        *,
        size: Size | None = None,
        fps: Fraction | None = None,
        duration: float | None = None,
        pictures: int = 16,
        codecs: Codecs | None = None,
    ) -> None:
        """``codecs`` are the engines of a GPU, asked for if left out."""
        self._inlet = inlet
        self._format = InputFormat(
            "webrtc:", size or SIZE, fps or FPS, ColorInfo(), TIME_BASE, note="H.264 through WebRTC"
        )
        self._duration = duration
        self._codecs = codecs
        inlet.decoding = Decoding(device, pictures, codecs)
        self._decoder = FrameDecoder(device, codec="h264", pictures=pictures)
        self._name = "webrtc"
        self._clock: Clock = SystemClock()
        self._queued: deque[Frame | Event] = deque()
        self._stretch = _Stretch()
        self._seq = 0

    @property
    def format(self) -> InputFormat:
        """What is announced."""
        return self._format

    @property
    def audio(self) -> LiveSound:
        """The sound of whoever sends."""
        return self._inlet.sound

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where decoding runs otherwise than it best would, and why."""
        return self._inlet.fallbacks

    def probe(self) -> InputFormat:
        """What is announced."""
        return self._format

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device from the next one on; the peer stays."""
        self._inlet.decoding = Decoding(device, pictures, self._codecs)
        self._decoder.move(device, pictures)

    def open(self, context: StageContext) -> None:
        """Nothing to open: peers come to us."""
        self._name, self._clock = context.name, context.clock

    def read(self) -> Frame | Event:
        """The next frame or event, waiting for it; ``Eos`` once interrupted, and ever after."""
        if not self._queued and not self._is_over:
            self._advance()
        return self._queued.popleft() if self._queued and not self._is_over else Eos()

    def interrupt(self) -> None:
        """Make a blocked ``read`` return with ``Eos``."""
        self._inlet.close()

    def close(self) -> None:
        """Hear nobody any more."""
        self._inlet.close()
        self._queued.clear()

    @property
    def _is_over(self) -> bool:
        return self._duration is not None and self._stretch.pts * TIME_BASE >= self._duration

    def _advance(self) -> None:
        taken = self._inlet.take()
        match taken:
            case SenderGone():
                _log.info("whoever sent the picture is gone")
                self._queued.append(Discontinuity("the sender is gone"))
                if self._seq:
                    self._queue_card()
            case ReceivedPicture():
                pts = self._stretch.place(taken)
                self._inlet.sound.anchor(taken.sender, taken.rtp_time, pts)
                self._queue(taken.picture, pts, taken.arrived_ns)

    def _queue_card(self) -> None:
        now_ns = self._clock.now_ns()
        card = waiting_card(self._decoder.size, self._decoder.color)
        self._queue(card, self._stretch.pause(now_ns), now_ns)

    def _queue(self, picture: Any, pts: int, captured_ns: int) -> None:
        """Put a picture as a frame behind the change of format that it may bring."""
        decoder = self._decoder
        if (change := decoder.adapt(picture)) is not None:
            self._queued.append(change)
        buffer = decoder.convert(picture)
        stamp = Timestamp(pts, TIME_BASE)
        seq, self._seq = self._seq, self._seq + 1
        self._queued.append(Frame(seq, self._name, stamp, captured_ns, decoder.size, decoder.color, buffer))


class _Stretch:
    """Media time of one sender after the other: RTP time within each, real time between them."""

    def __init__(self) -> None:
        self.pts = -1
        self._origin_ns: int | None = None
        self._sender: int | None = None
        self._base = self._rtp = 0

    def place(self, taken: ReceivedPicture) -> int:
        """The media time of a picture in 90 kHz ticks since the first one; it rises strictly."""
        if self._origin_ns is None:
            self._origin_ns = taken.arrived_ns
        step = (taken.rtp_time - self._rtp) % _RTP_CYCLE
        backwards = step >= _RTP_CYCLE // 2
        if taken.sender != self._sender or backwards:
            self._base = _ticks(taken.arrived_ns - self._origin_ns)
            self._sender = taken.sender
        else:
            self._base += step
        self._rtp = taken.rtp_time
        self.pts = max(self.pts + 1, self._base)
        return self.pts

    def pause(self, now_ns: int) -> int:
        """The media time of what is shown between two senders."""
        self._sender = None
        if self._origin_ns is not None:
            self.pts = max(self.pts + 1, _ticks(now_ns - self._origin_ns))
        return self.pts


def _ticks(nanoseconds: int) -> int:
    return nanoseconds * CLOCK_RATE // NANOSECONDS
