"""What a stage remembers of each face that it follows."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

MOST_TRACKS = 16
"""So many tracks are remembered; the one that was asked for least recently makes room."""

Kept = TypeVar("Kept")


class ByTrack(Generic[Kept]):
    """Something of each of the last tracks, made when it is asked for first. Belongs to one thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Kept] = OrderedDict()

    def __iter__(self) -> Iterator[Kept]:
        return iter(self._kept.values())

    def of(self, track_id: int, make: Callable[[], Kept]) -> Kept:
        """That of a track."""
        kept = self._kept.pop(track_id) if track_id in self._kept else make()
        self._kept[track_id] = kept
        while len(self._kept) > MOST_TRACKS:
            self._kept.popitem(last=False)
        return kept
