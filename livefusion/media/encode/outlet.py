"""Where encoded pictures leave the graph for all who watch: encoded once, however many they are."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from livefusion.core.geometry import Size
from livefusion.media.encode.opus import EncodedSound

CLOCK_RATE = 90_000
TIME_BASE = Fraction(1, CLOCK_RATE)
"""Media time of RTP video."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """An H.264 access unit (Annex B, parameters before each key frame) and its media time at 90 kHz.

    ``size`` is that of the picture, None where nobody asks.
    """

    data: bytes
    pts: int
    is_key: bool
    size: Size | None = None


@dataclass(frozen=True, slots=True)
class DueSound:
    """A packet of sound and when it is to leave, monotonic: as long after its media time as the pictures."""

    sound: EncodedSound
    due_ns: int


Post = Callable[[EncodedPicture | DueSound], None]
"""Hands a picture or its sound to one viewer; called on the thread of the sink."""


class Outlet:
    """Passes pictures from the encoder to viewers, and the viewers' wishes to the encoder. Thread-safe."""

    def __init__(self, ceiling: int, lower: "Outlet | None" = None) -> None:
        """``lower`` has an encoding for those who cannot take ``floor``."""
        self._ceiling = ceiling
        self.lower = lower
        self._lock = threading.Lock()
        self._posts: dict[int, Post] = {}
        self._rates: dict[int, int] = {}
        self._hearers: set[int] = set()
        self._number = 0
        self._wants_key = False
        self.has_sound = True
        """Whether sound may come beside the pictures; true until it is known that there is none."""
        self.key_requests = 0
        """Key frames that viewers asked for."""

    @property
    def ceiling(self) -> int:
        """Bits a second that are never gone above."""
        return self._ceiling

    @property
    def viewers(self) -> int:
        """How many watch."""
        return len(self._posts)

    @property
    def bitrate(self) -> int:
        """Bits a second to encode with: what the weakest viewer can take.

        Where there is an encoding for weak ones, the others never get less than ``floor`` because of one.
        """
        with self._lock:
            rate = min(self._rates.values(), default=self._ceiling)
            alone = self.lower is None or len(self._posts) < 2
            return rate if alone else max(rate, self.floor)

    @property
    def floor(self) -> int:
        """Bits a second, half of the ceiling: who cannot take them holds nobody else back."""
        return self._ceiling // 2

    @property
    def hearers(self) -> int:
        """How many want the sound, too."""
        return len(self._hearers)

    def attach(self, post: Post, *, sound: bool = True) -> int:
        """Somebody watches from the next key frame on, which is asked for; a number to ``detach`` with.

        ``sound`` is False for those that have the sound of the input elsewhere.
        """
        with self._lock:
            self._number += 1
            self._posts[self._number] = post
            if sound:
                self._hearers.add(self._number)
            self._wants_key = True
            return self._number

    def detach(self, viewer: int) -> None:
        """That viewer is gone; nothing if it already was."""
        with self._lock:
            self._posts.pop(viewer, None)
            self._hearers.discard(viewer)
            self._rates.pop(viewer, None)

    def limit(self, viewer: int, bitrate: int) -> None:
        """That viewer can take so many bits a second."""
        with self._lock:
            if viewer in self._posts:
                self._rates[viewer] = min(bitrate, self._ceiling)

    def request_key(self) -> None:
        """A viewer cannot go on without a key frame."""
        with self._lock:
            self._wants_key = True
            self.key_requests += 1

    @property
    def wants_key(self) -> bool:
        """Whether the next picture is to be a key frame."""
        return self._wants_key

    def take_key_request(self) -> bool:
        """Whether the next picture is to be a key frame; asking takes the wish away."""
        with self._lock:
            wanted, self._wants_key = self._wants_key, False
            return wanted

    def send(self, item: EncodedPicture | DueSound) -> None:
        """Hand a picture, or sound, to every viewer."""
        with self._lock:
            posts = tuple(self._posts.values())
        for post in posts:
            post(item)
