"""A peer that sends us its picture, and perhaps its sound."""

import asyncio
import logging
from typing import Any

from aiortc import RTCSessionDescription

from livefusion.core.timing import Clock
from livefusion.media.webrtc.assemble import CodedPicture, PictureAssembler
from livefusion.media.webrtc.bitrate import LossBackoff, LossMeter
from livefusion.media.webrtc.compat import ReceiverHooks, h264_preferences, opus_preferences
from livefusion.media.webrtc.connection import Connection
from livefusion.media.webrtc.consent import keep_while_heard
from livefusion.media.webrtc.decode import DecoderFeed
from livefusion.media.webrtc.ice import ANYWHERE, Reach
from livefusion.media.webrtc.inlet import Inlet
from livefusion.media.webrtc.lipsync import LipSync
from livefusion.media.webrtc.music import offers_opus, with_music
from livefusion.media.webrtc.sound_receiver import SoundFeed, SoundPackets

_log = logging.getLogger(__name__)

TICK_SECONDS = 0.03
"""How often a missing packet is asked for again: a round trip or two, and less than a frame."""
GIVE_UP_NS = 250_000_000
"""For how long a missing packet holds the picture back before the next key frame is awaited instead."""
_KEY_TICKS = 7
_LIMIT_TICKS = 16
_LOSS_TICKS = 33


class Publisher:
    """Takes video and sound of one peer into the inlet. Lives on the event loop."""

    def __init__(self, inlet: Inlet, clock: Clock, ceiling: int, reach: Reach = ANYWHERE) -> None:
        self.connection = Connection(reach)
        self._inlet = inlet
        self._loop = asyncio.get_running_loop()
        self._sender = 0
        self._clock = clock
        self._lips = LipSync()
        self._assembler = PictureAssembler(clock.now_ns, self._lips.note_picture)
        self._feed = DecoderFeed(self._deliver, self._damage, lambda: inlet.decoding)
        self._backoff = LossBackoff(ceiling)
        self._meter = LossMeter()
        self._heard = 0
        self._key_asked = 0  # the first key frame comes unasked
        transceiver = self.connection.peer.addTransceiver("video", direction="recvonly")
        # Before the offer is read: afterwards they have no effect.
        transceiver.setCodecPreferences(h264_preferences())
        self._hooks = ReceiverHooks(transceiver.receiver)
        self._hooks.replace(self._assembler, self._feed)
        self._hooks.watch_clock(self._lips.video.note_report)
        self._sound: Any = None
        self.connection.peer.on("track", self._note_track)
        self._tending: asyncio.Task[None] | None = None
        self.connection.on_end(self._end)

    @property
    def figures(self) -> dict[str, int]:
        """Counts, for those who look after it."""
        expected, received = self._hooks.totals
        return {
            "packets_expected": expected,
            "packets_received": received,
            "gaps_given_up": self._assembler.skipped,
            "pictures_dropped": self._feed.dropped,
            "bitrate_limit": self._backoff.bitrate,
        }

    async def answer(self, offer: RTCSessionDescription) -> str:
        """Take the offer of a peer that wants to send; the answer as SDP. It is heard from now on."""
        if offers_opus(offer.sdp):
            self._take_sound()
        answer = await self.connection.answer(offer)
        keep_while_heard(self.connection.peer, self._heard_anew)
        self._sender = self._inlet.enter()
        self._tending = self._loop.create_task(self._tend())
        return with_music(answer)

    def _heard_anew(self) -> bool:
        """Whether packets came since this was asked last."""
        before, self._heard = self._heard, self._hooks.totals[1]
        return self._heard != before

    def _take_sound(self) -> None:
        """Before the offer is read: where there is none, what is made here would never connect."""
        transceiver = self.connection.peer.addTransceiver("audio", direction="recvonly")
        transceiver.setCodecPreferences(opus_preferences())
        hooks = ReceiverHooks(transceiver.receiver)
        hooks.replace(SoundPackets(), SoundFeed(self._hear))
        hooks.watch_clock(self._lips.sound.note_report)
        self._sound = transceiver.receiver

    def _hear(self, data: bytes, rtp_time: int) -> None:
        self._lips.sound.note_arrival(rtp_time, self._clock.now_ns())
        video_time = self._lips.video_time(rtp_time)
        if video_time is not None:
            self._inlet.sound.put(self._sender, data, self._lips.sound.extended(rtp_time), video_time)

    def _note_track(self, track: Any) -> None:
        if track.kind == "video":
            return
        for transceiver in self.connection.peer.getTransceivers():
            if transceiver.receiver.track is track and transceiver.receiver is not self._sound:
                ReceiverHooks(transceiver.receiver).ignore()

    def _deliver(self, picture: Any, coded: CodedPicture) -> None:
        if self._feed.decoder is not None:
            self._inlet.fallbacks = self._feed.decoder.fallbacks
        self._inlet.put(self._sender, picture, coded.rtp_time, coded.arrived_ns)

    def _damage(self) -> None:
        """From any thread: nothing can be decoded until the next key frame."""
        self._loop.call_soon_threadsafe(self._assembler.damage)

    def _end(self) -> None:
        if self._tending is not None:
            self._tending.cancel()
        self._inlet.leave(self._sender)

    async def _tend(self) -> None:
        """Ask again for what is missing, and give it up in time; tell the sender how much it may send."""
        tick = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            stream = self._hooks.stream
            if stream is None:
                continue
            tick += 1
            await self._mend(stream, tick)
            if tick % _LOSS_TICKS == 0:
                self._backoff.report(self._meter.take(*self._hooks.totals))
            if tick % _LIMIT_TICKS == 1:
                await self._hooks.send_limit(stream, self._backoff.bitrate)

    async def _mend(self, stream: int, tick: int) -> None:
        if self._assembler.blocked_ns > GIVE_UP_NS:
            self._assembler.give_up()
            self._hooks.forget_missing()
        elif missing := self._hooks.missing:
            await self._hooks.ask_again(stream, missing)
        # Asked for again because the request, or the key frame itself, may be lost as well.
        if self._assembler.wants_key and tick - self._key_asked >= _KEY_TICKS:
            self._key_asked = tick
            await self._hooks.ask_key(stream)
