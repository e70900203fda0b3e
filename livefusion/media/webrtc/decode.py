"""The thread that decodes a peer's pictures, fed from the event loop."""

import logging
import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
from av.codec.context import Flags

from livefusion.core.errors import DeviceError, InputError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.media.decode.packets import PacketDecoder
from livefusion.media.nvcodec.choose import decoder_for
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.webrtc.assemble import CodedPicture, is_key

_log = logging.getLogger(__name__)

WAITING = 15
"""Coded pictures that may wait for the decoder: half a second. Then all are dropped up to a key frame."""

_BEHIND, _PASSED = 2, 3
"""With so many newer ones waiting a picture is decoded but not given, and never more than three in a row."""

_TIME_BASE = Fraction(1, 90_000)


@dataclass(frozen=True, slots=True, eq=False)
class Decoding:
    """Where a peer's pictures are wanted: on a GPU they are decoded there, at most so many in its memory.

    ``codecs`` are its engines, asked for if left out.
    """

    device: Device
    pictures: int = 16
    codecs: Codecs | None = None

    def open(self) -> PacketDecoder:
        """A decoder, for the calling thread."""
        return decoder_for(_create_context(), self.device, codecs=self.codecs, pictures=self.pictures)


ON_HOST = Decoding(CpuDevice())


class DecoderFeed:
    """Stands in for the queue between an aiortc receiver and its decoder thread.

    That thread calls ``get``, and stays in it until the end: decoded pictures go to ``deliver`` without a way
    through the event loop. A picture that cannot be decoded, and one that finds the queue full, is
    ``damage``: the next key frame has to be asked for, and nothing decoded until then. ``wanted`` says where
    pictures are wanted at the moment; when it is another, decoding goes on there with the next key frame.

    A decoder that is behind gives the newest pictures only: a graph that works on old ones takes the time
    that the decoder needs to catch up.
    """

    def __init__(
        self,
        deliver: Callable[[Any, CodedPicture], None],
        damage: Callable[[], None],
        wanted: Callable[[], Decoding] = lambda: ON_HOST,
    ) -> None:
        self._deliver = deliver
        self._damage = damage
        self._wanted = wanted
        self._waiting: queue.Queue[CodedPicture | None] = queue.Queue()
        self._decoding: Decoding | None = None
        self._decoder: PacketDecoder | None = None
        self._passed = 0
        self.dropped = 0
        """Coded pictures that were not decoded because the decoder was too slow."""

    @property
    def decoder(self) -> PacketDecoder | None:
        """What decodes; None before the first picture."""
        return self._decoder

    def put(self, task: Any) -> None:
        """Take what the receiver gives: a codec and what one packet completed, or None at the end."""
        if task is None:
            self._waiting.put(None)
            return
        pictures: list[CodedPicture] = task[1].pictures
        if self._waiting.qsize() + len(pictures) > WAITING:
            self._drop(len(pictures))
            return
        for picture in pictures:
            self._waiting.put(picture)

    def get(self) -> None:
        """Decode until the end comes."""
        try:
            while (coded := self._waiting.get()) is not None:
                for picture in self._decode(coded):
                    if not self._is_old():
                        self._deliver(picture, coded)
        finally:
            self._leave()

    def _is_old(self) -> bool:
        """Whether newer pictures wait, so that this one need not be given."""
        old = self._waiting.qsize() >= _BEHIND and self._passed < _PASSED
        self._passed = self._passed + 1 if old else 0
        return old

    def _decode(self, coded: CodedPicture) -> Sequence[Any]:
        packet = av.Packet(coded.data)
        packet.pts, packet.time_base = coded.rtp_time, _TIME_BASE
        packet.is_keyframe = is_key(coded.data)
        try:
            decoder = self._ready(key=packet.is_keyframe)
            if decoder is not None:
                return decoder.decode(packet)
        except InputError as error:
            _log.debug("a picture of the peer is damaged: %s", error)
        except DeviceError as error:
            _log.debug("a picture of the peer cannot be decoded: %s", error)
            self._leave()
        self._damage()
        return ()

    def _ready(self, *, key: bool) -> PacketDecoder | None:
        """The decoder for the place where pictures are wanted; None if it can begin with a key frame only."""
        wanted = self._wanted()
        if wanted is not self._decoding:
            self._leave()
        if self._decoder is None:
            if not key:
                return None
            self._decoding, self._decoder = wanted, wanted.open()
        return self._decoder

    def _leave(self) -> None:
        decoder, self._decoder, self._decoding = self._decoder, None, None
        try:
            if decoder is not None:
                decoder.close()
        except DeviceError as error:
            _log.debug("a decoder is left behind: %s", error)

    def _drop(self, pictures: int) -> None:
        self.dropped += pictures
        try:
            while True:
                last = self._waiting.get_nowait()
                if last is None:
                    self._waiting.put(None)
                    break
                self.dropped += 1
        except queue.Empty:
            pass
        self._damage()


def _create_context() -> Any:
    context = av.CodecContext.create("h264", "r")
    # One thread: several decode slices at once, and a live peer sends one slice a picture.
    context.thread_count = 1
    context.flags |= Flags.low_delay
    return context
