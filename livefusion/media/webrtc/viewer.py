"""A peer that watches our picture."""

import asyncio
from collections.abc import Callable
from typing import Any

import av
from aiortc import MediaStreamTrack, RTCSessionDescription

from livefusion.core.timing import Clock
from livefusion.media.encode.outlet import TIME_BASE, DueSound, EncodedPicture, Outlet
from livefusion.media.webrtc.bitrate import LossBackoff
from livefusion.media.webrtc.compat import (
    h264_preferences,
    hook_sender,
    offer_playout_delay,
    opus_preferences,
    show_at_once,
)
from livefusion.media.webrtc.connection import Connection
from livefusion.media.webrtc.handover import Handover
from livefusion.media.webrtc.ice import ANYWHERE, Reach
from livefusion.media.webrtc.music import offers_opus, with_music
from livefusion.media.webrtc.sound_track import SoundTrack

_BACK = 1.3
"""Of the floor: what a viewer must be able to take before it is given the whole picture again."""
WAITING = 8
"""Pictures that may wait for a viewer's connection; then it goes on with the next key frame."""


class PictureTrack(MediaStreamTrack):
    """Encoded pictures as a track. A viewer that does not keep up gets nothing until the next key frame."""

    kind = "video"

    def __init__(self, want_key: Callable[[], None]) -> None:
        super().__init__()
        self._want_key = want_key
        # Not _waiting: aiortc's own base has one of that name.
        self._pictures: asyncio.Queue[EncodedPicture] = asyncio.Queue()
        self._needs_key = True
        self.dropped = 0

    def put(self, picture: EncodedPicture) -> None:
        """Take a picture; on the event loop."""
        if self._pictures.qsize() >= WAITING:
            self.lose()
        if self._needs_key and not picture.is_key:
            self.dropped += 1
            self._want_key()
            return
        self._needs_key = False
        self._pictures.put_nowait(picture)

    def lose(self) -> None:
        """Drop what waits, and go on with the next key frame; on the event loop."""
        while not self._pictures.empty():
            self._pictures.get_nowait()
            self.dropped += 1
        self._needs_key = True

    async def recv(self) -> Any:
        """The next picture as ``av.Packet``, waiting for it."""
        picture = await self._pictures.get()
        packet = av.Packet(picture.data)
        packet.pts, packet.time_base = picture.pts, TIME_BASE
        return packet


class Viewer:
    """Sends what the outlet gives to one peer. Lives on the event loop."""

    def __init__(self, outlet: Outlet, clock: Clock, reach: Reach = ANYWHERE) -> None:
        self.connection = Connection(reach)
        self._outlet = outlet
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._at = outlet
        self._number = 0
        self._turn = 0
        self._backoff = LossBackoff(outlet.ceiling)
        self.track = PictureTrack(self._request_key)
        self._handover = Handover(self._loop, self._take, self.track.lose)
        self.sound: SoundTrack | None = None
        offer_playout_delay()
        sender = self._add(self.track, h264_preferences())
        hook_sender(sender, self._request_key, self._note_loss)
        show_at_once(sender)
        self.connection.peer.on("connectionstatechange", self._note_state)
        self.connection.on_end(self._end)

    @property
    def figures(self) -> dict[str, int]:
        """Counts, for those who look after it."""
        return {
            "pictures_dropped": self.track.dropped,
            "bitrate_limit": self._backoff.bitrate,
            "lower": int(self._at is not self._outlet),
        }

    async def answer(self, offer: RTCSessionDescription) -> str:
        """Take the offer of a peer that wants to watch; the answer as SDP."""
        if offers_opus(offer.sdp):
            self._add_sound()
        return with_music(await self.connection.answer(offer))

    async def offer(self) -> str:
        """Our offer to a peer that does not make one, as SDP."""
        self._add_sound()
        return with_music(await self.connection.offer())

    def _add_sound(self) -> None:
        if self._outlet.has_sound:
            self.sound = SoundTrack(self._clock)
            self._add(self.sound, opus_preferences())

    def _add(self, track: MediaStreamTrack, preferences: list[Any]) -> Any:
        """Send a track; its sender."""
        sender = self.connection.peer.addTrack(track)
        transceiver = self.connection.peer.getTransceivers()[-1]
        transceiver.direction = "sendonly"
        # Before the offer is read: afterwards they have no effect.
        transceiver.setCodecPreferences(preferences)
        return sender

    def _note_state(self) -> None:
        if self.connection.peer.connectionState == "connected" and not self._number:
            self._attach(self._outlet)

    def _attach(self, outlet: Outlet) -> None:
        """Take pictures from there, from the next key frame on, and from nowhere else."""
        self._at.detach(self._number)
        self.track.lose()
        self._at, self._turn = outlet, self._turn + 1
        turn, put = self._turn, self._handover.put
        self._number = outlet.attach(lambda item: put((turn, item)), sound=self.sound is not None)

    def _request_key(self) -> None:
        self._at.request_key()

    def _take(self, given: tuple[int, EncodedPicture | DueSound]) -> None:
        turn, item = given
        if turn != self._turn:
            return  # of the encoding before, and still on its way
        if isinstance(item, EncodedPicture):
            self.track.put(item)
        elif self.sound is not None:
            self.sound.put(item)

    def _note_loss(self, lost: float) -> None:
        self._backoff.report(lost)
        if self._number:
            self._choose(self._backoff.bitrate)
            self._at.limit(self._number, self._backoff.bitrate)

    def _choose(self, rate: int) -> None:
        """Leave those who can take more, or come back to them."""
        whole, lower = self._outlet, self._outlet.lower
        if lower is None:
            return
        if self._at is whole and whole.viewers > 1 and rate < whole.floor:
            self._attach(lower)
        elif self._at is lower and (rate > _BACK * whole.floor or not whole.viewers):
            self._attach(whole)

    def _end(self) -> None:
        self._at.detach(self._number)
        self._number = 0
