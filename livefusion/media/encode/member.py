"""One output's part in the encoder that outputs share: its own packets, from a key frame on."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import av

from livefusion.core.frame import Frame
from livefusion.devices.device import Device
from livefusion.media.encode.outlet import CLOCK_RATE, TIME_BASE, DueSound, EncodedPicture
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat

KEYFRAME_TICKS = CLOCK_RATE
"""Media time between key frames, at most: servers begin with one, and viewers of datagrams wait for one."""
WAITING = 60
"""Pictures that may wait while an output is slow; then it goes on with the next key frame."""


class ShareMember:
    """Brings pictures to a shared encoder and takes packets from it, a key frame each second at least.

    What other outputs have encoded meanwhile waits here, up to ``WAITING`` pictures, however long the output
    hangs. For one thread, but for those of the other outputs.
    """

    def __init__(self, share: EncoderShare, device: Device) -> None:
        self._share = share
        self._device = device
        self._lock = threading.Lock()
        self._pictures: deque[EncodedPicture] = deque()
        self._needs_key = True
        self._key_pts: int | None = None
        self._viewer = 0

    def join(self, output: OutputFormat) -> None:
        """Take part from the next key frame on."""
        self._share.join(output)
        self._viewer = self._share.outlet.attach(self._post, sound=False)
        self.begin_anew()

    def leave(self) -> None:
        """Take part no more; nothing if it did not."""
        if self._viewer:
            self._share.outlet.detach(self._viewer)
            self._share.leave()
            self._viewer = 0
        with self._lock:
            self._pictures.clear()

    def begin_anew(self) -> None:
        """Pass over everything before the next key frame."""
        with self._lock:
            self._needs_key = True

    def request_key(self) -> None:
        """Have the next picture encoded as a key frame."""
        self._share.outlet.request_key()

    def take(self, frame: Frame, output: OutputFormat) -> Iterator[EncodedPicture]:
        """Have a frame encoded, and give what was encoded since. ``OutputError`` if the encoder fails."""
        self._share.write(frame, self._device, output)
        while (picture := self._next()) is not None:
            yield picture

    def _next(self) -> EncodedPicture | None:
        while True:
            with self._lock:
                if not self._pictures:
                    return None
                picture = self._pictures.popleft()
                needs_key = self._needs_key and not picture.is_key
                self._needs_key = needs_key
            self._ask_for_key(picture, needs_key)
            if not needs_key:
                return picture

    def _ask_for_key(self, picture: EncodedPicture, needs_key: bool) -> None:
        last = self._key_pts
        if picture.is_key or last is None:
            self._key_pts = picture.pts
        elif needs_key or picture.pts - last >= KEYFRAME_TICKS:
            self._key_pts = picture.pts
            self.request_key()

    def _post(self, item: EncodedPicture | DueSound) -> None:
        """Take what was encoded, perhaps on the thread of another output."""
        if not isinstance(item, EncodedPicture):
            return
        with self._lock:
            if len(self._pictures) >= WAITING:
                self._pictures.clear()
                self._needs_key = True
            self._pictures.append(item)


def packet_of(picture: EncodedPicture) -> Any:
    """An ``av.Packet`` for muxers."""
    packet: Any = av.Packet(picture.data)
    packet.pts = packet.dts = picture.pts
    packet.time_base = TIME_BASE
    packet.is_keyframe = picture.is_key
    return packet
