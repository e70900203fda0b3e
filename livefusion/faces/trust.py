"""Whether a search of the whole picture vouches that every face in it is known."""

from collections import deque
from dataclasses import dataclass

# A detector that has not answered for so long hangs.
_MOST_FRAMES = 15
_MOST_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class _Question:
    seq: int
    number: int
    captured_ns: int


class Trust:
    """Keeps book of the questions to the detector and of its answers.

    A frame is trusted if a search of a frame of the same scene has been finished and no question has been
    open for 15 frames or half a second of capture time.
    """

    def __init__(self) -> None:
        self._scene_seq: int | None = None
        self._open: deque[_Question] = deque()
        self._frames = 0
        self._answered: int | None = None

    def new_scene(self, seq: int | None = None) -> None:
        """The scene begins at frame ``seq``, or with the next one: what was found before does not count."""
        self._scene_seq = seq
        self._answered = None
        if seq is None:
            self._open.clear()

    def frame(self, seq: int) -> None:
        """The next frame has come."""
        self._frames += 1
        if self._scene_seq is None:
            self._scene_seq = seq

    def asked(self, seq: int, captured_ns: int) -> None:
        """The frame has been handed to the detector."""
        self._open.append(_Question(seq, self._frames, captured_ns))

    def answered(self, seq: int) -> bool:
        """A search of frame ``seq`` is finished, older questions are void; whether it is of this scene."""
        while self._open and self._open[0].seq <= seq:
            self._open.popleft()
        if self._scene_seq is None or seq < self._scene_seq:
            return False
        self._answered = seq
        return True

    def holds(self, captured_ns: int) -> bool:
        """Whether the frame captured at ``captured_ns`` is trusted."""
        if self._answered is None:
            return False
        if not self._open:
            return True
        oldest = self._open[0]
        waited = captured_ns - oldest.captured_ns
        return self._frames - oldest.number < _MOST_FRAMES and waited < _MOST_NS
