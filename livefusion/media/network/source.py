"""A stream of the network as a source of the graph."""

import logging
from collections import deque
from typing import Any

from livefusion.core.errors import InputError, LiveFusionError
from livefusion.core.events import Discontinuity, Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.decode.packets import PacketDecoder
from livefusion.media.formats import InputFormat
from livefusion.media.network.address import StreamAddress
from livefusion.media.network.connection import Connection
from livefusion.media.network.patience import Patience
from livefusion.media.network.receiver import Arrival, Gone, Receiver, Stalled
from livefusion.media.network.sound_ring import SoundRing
from livefusion.media.nvcodec.choose import choose_decoder
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.sources.camera import CLOCK_RATE, TIME_BASE
from livefusion.media.webrtc.card import waiting_card
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)

_BACKLOG = 3
"""Packets that wait: pictures before the last of so many are decoded, but not given."""


class StreamSource:
    """Reads a stream and waits for it when it is gone.

    The first connection tells the format: a server has to answer, a publisher is waited for. Later ones may
    be of another size or codec, which is a ``FormatChange``. When a stream ends, or says nothing for longer
    than ``Patience`` has, a card takes the place of its last picture; media time goes on with real time
    meanwhile, and the connection has some seconds more. ``captured_ns`` is when the packet of a picture came.
    It ends after ``duration`` seconds of media time.
    """

    def __init__(
        self,
        address: StreamAddress,
        uri: str,
        device: Device,
        *,
        duration: float | None = None,
        pictures: int = 16,
        codecs: Codecs | None = None,
    ) -> None:
        self._address = address
        self._uri = uri
        self._device = device
        self._duration = duration
        self._pictures = pictures
        self._codecs = codecs
        self._name = "stream"
        self._clock: Clock = SystemClock()
        self._receiver: Receiver | None = None
        self._sound: SoundRing | None = None
        self._decoding: _Decoding | None = None
        self._frames = FrameDecoder(device, codec="h264", pictures=pictures)
        self._format: InputFormat | None = None
        self._queued: deque[Frame | Event] = deque()
        self._fallbacks: tuple[Fallback, ...] = ()
        self._patience = Patience()
        self._pts = -1
        self._seq = 0
        self._is_live = False
        self.losses = 0
        """How often the stream was lost."""

    @property
    def format(self) -> InputFormat:
        """What the first connection delivers; known after ``probe`` or ``open``."""
        assert self._format is not None, "probe or open comes first"
        return self._format

    @property
    def audio(self) -> SoundRing | None:
        """The sound of the stream, whoever sends it."""
        return self._sound if self.format.has_audio else None

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where decoding runs otherwise than it best would, and why."""
        return self._fallbacks

    def probe(self) -> InputFormat:
        """Connect, or wait for a publisher, and decode the first picture. ``InputError`` if that fails."""
        if self._receiver is None:
            self._receiver = Receiver(self._address, self._clock)
            self._sound = self._receiver.sound
            try:
                self._meet(self._receiver)
            except BaseException:  # also Ctrl-C: nothing half open may stay
                self.close()
                raise
        return self.format

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device from the next one on; the connection stays."""
        self._device, self._pictures = device, pictures
        self._frames.move(device, pictures)
        if self._decoding is not None:
            self._decoding.move(device, pictures)

    def open(self, context: StageContext) -> None:
        """Connect. ``InputError`` if the stream cannot be had."""
        self._name, self._clock = context.name, context.clock
        self.probe()

    def read(self) -> Frame | Event:
        """The next frame or event, waiting for it; ``Eos`` once interrupted, and ever after."""
        while not self._queued and not self._is_over and self._receiver is not None:
            if not self._advance(self._receiver, self._patience.nanoseconds if self._is_live else None):
                break
        return self._queued.popleft() if self._queued and not self._is_over else Eos()

    def interrupt(self) -> None:
        """Make a blocked ``read`` return with ``Eos``."""
        receiver = self._receiver
        if receiver is not None:
            receiver.stop()

    def close(self) -> None:
        """Hang up."""
        receiver, self._receiver = self._receiver, None
        self._queued.clear()
        if receiver is not None:
            receiver.stop()
        self._end_decoding()

    @property
    def _is_over(self) -> bool:
        return self._duration is not None and self._pts * TIME_BASE >= self._duration

    def _meet(self, receiver: Receiver) -> None:
        """Go on to the first picture, and learn from it what is delivered."""
        while not any(isinstance(one, Frame) for one in self._queued):
            if not self._advance(receiver, None):
                raise InputError("the input was closed before its first picture")
        self._queued = deque(one for one in self._queued if isinstance(one, Frame))
        connection = self._decoding.connection if self._decoding is not None else None
        assert connection is not None, "a picture has a connection"
        frame = self._frames
        waiting_card(frame.size, frame.color)  # the first one loads a font: 160 ms, 1 ms later
        self._format = InputFormat(
            uri=self._uri,
            size=frame.size,
            fps=connection.fps,
            color=frame.color,
            time_base=TIME_BASE,
            rotation=frame.orientation.rotation,
            has_audio=receiver.has_sound,
            note=f"{connection.video.codec_context.name} through {self._address.scheme}",
        )

    def _advance(self, receiver: Receiver, patience_ns: int | None) -> bool:
        """Take what came next into the queue; False once the receiver was stopped."""
        match receiver.take(patience_ns):
            case Arrival() as arrival:
                self._decode(arrival, receiver)
            case Gone(connection, error):
                self._lose(connection, error, receiver)
            case Stalled():
                self._show_card("the stream stalls", receiver)
            case None:
                return False
        return True

    def _decode(self, arrival: Arrival, receiver: Receiver) -> None:
        decoding = self._decoding
        if decoding is None or decoding.connection is not arrival.connection:
            decoding = self._begin_decoding(arrival.connection)
        self._patience.arrived(arrival.arrived_ns)
        behind = receiver.waiting >= _BACKLOG
        for picture, media_ns, arrived_ns in decoding.decode(arrival):
            if not behind or self._format is None:
                self._is_live = True
                self._queue(picture, media_ns, arrived_ns)

    def _begin_decoding(self, connection: Connection) -> "_Decoding":
        self._end_decoding()
        decoder = choose_decoder(connection.video, self._device, codecs=self._codecs, pictures=self._pictures)
        self._fallbacks = decoder.fallbacks
        self._decoding = _Decoding(connection, decoder)
        return self._decoding

    def _end_decoding(self) -> None:
        decoding, self._decoding = self._decoding, None
        if decoding is not None:
            decoding.close()

    def _lose(self, connection: Connection | None, error: LiveFusionError, receiver: Receiver) -> None:
        if connection is not None:
            self._end_decoding()
            connection.close()
        if self._format is None:
            if not self._address.listens:
                raise error
            _log.info("still waiting for the publisher: %s", error.problem)
            return
        if connection is not None:
            self.losses += 1
            _log.warning("%s; it is tried again until it is back", error.problem)
        else:
            _log.debug("not back yet: %s", error.problem)
        self._show_card("the stream is lost", receiver)

    def _show_card(self, reason: str, receiver: Receiver) -> None:
        if not self._is_live:
            return
        self._is_live = False
        self._patience.pause()
        self._queued.append(Discontinuity(reason))
        card = waiting_card(self._frames.size, self._frames.color)
        self._queue(card, receiver.media_now(), self._clock.now_ns())

    def _queue(self, picture: Any, media_ns: int, captured_ns: int) -> None:
        frames = self._frames
        if (change := frames.adapt(picture)) is not None:
            self._queued.append(change)
        buffer = frames.convert(picture)
        self._pts = max(self._pts + 1, media_ns * CLOCK_RATE // NANOSECONDS)
        seq, self._seq = self._seq, self._seq + 1
        stamp = Timestamp(self._pts, TIME_BASE)
        self._queued.append(Frame(seq, self._name, stamp, captured_ns, frames.size, frames.color, buffer))


class _Decoding:
    """The decoder of one connection, and when the packets came that its pictures were in."""

    def __init__(self, connection: Connection, decoder: PacketDecoder) -> None:
        self.connection = connection
        self._decoder = decoder
        self._times: dict[int, tuple[int, int]] = {}
        self._wants_key = False

    def decode(self, arrival: Arrival) -> list[tuple[Any, int, int]]:
        """Each picture that a packet completes, its media time, and when it came; none if it is damaged."""
        packet = arrival.packet
        if self._wants_key and not packet.is_keyframe:
            return []
        self._wants_key = False
        times = (arrival.media_ns, arrival.arrived_ns)
        if packet.pts is not None:
            self._times[packet.pts] = times
        try:
            pictures = self._decoder.decode(packet)
        except InputError as error:
            _log.debug("%s", error)
            return []
        made = [(one, *self._times.pop(one.pts, times)) for one in pictures]
        if len(self._times) > 64:  # those of pictures that were never given
            self._times = dict(list(self._times.items())[-32:])
        return made

    def move(self, device: Device, pictures: int) -> None:
        """Decode for another device from now on."""
        self._wants_key = self._decoder.move(device, pictures)

    def close(self) -> None:
        """Give back what decoding took."""
        self._decoder.close()
