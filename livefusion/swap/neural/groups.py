"""Which faces of a frame a network makes in one run."""

from collections.abc import Sequence

from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame

Group = tuple[FaceTrack, ...]


class Groups:
    """Parts the faces of a frame into groups of some ``sizes``, the largest first; 1 is among them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._frame: tuple[str, int, int] | None = None
        self._groups: tuple[Group, ...] = ()

    @property
    def most(self) -> int:
        """Faces in the largest group."""
        return max(self._sizes)

    def look(self, frame: Frame, tracks: Sequence[FaceTrack]) -> None:
        """Take in the faces of a frame, in the order in which they will be asked for."""
        self._frame = _key(frame)
        groups, left = [], tuple(tracks)
        while left:
            size = next(size for size in self._sizes if size <= len(left))
            groups.append(left[:size])
            left = left[size:]
        self._groups = tuple(groups)

    def of(self, frame: Frame, track: FaceTrack) -> Group:
        """The group of a face; of itself alone if it was not seen with others."""
        if _key(frame) == self._frame:
            for group in self._groups:
                if track in group:
                    return group
        return (track,)


def _key(frame: Frame) -> tuple[str, int, int]:
    """What tells a frame from others. The frame itself is not kept: its buffer would stay in use."""
    return frame.source_id, frame.epoch, frame.seq
