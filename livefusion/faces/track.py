"""SORT: simple online and real-time tracking (Bewley, Ge, Ott, Ramos and Upcroft, ICIP 2016)."""

import math
from itertools import count

import numpy as np

from livefusion.faces.associate import associate
from livefusion.faces.kalman import BoxFilter, Corners


class SortTrack:
    """One thing followed: its motion, and for how long it has and has not been seen."""

    __slots__ = ("age", "filter", "hit_streak", "id", "misses")

    def __init__(self, number: int, corners: Corners) -> None:
        self.id = number
        self.filter = BoxFilter(corners)
        self.age = 0
        """Frames since birth."""
        self.misses = 0
        """Frames since it was last seen; 0 in a frame in which it is seen."""
        self.hit_streak = 0
        """Frames in a row in which it was seen, the first one not counted."""

    @property
    def corners(self) -> Corners:
        """(4,) left, top, right, bottom."""
        return self.filter.corners

    def predict(self) -> None:
        """Move one frame on."""
        self.filter.predict()
        self.age += 1
        if self.misses > 0:
            self.hit_streak = 0
        self.misses += 1

    def see(self, corners: Corners) -> None:
        """Take note that it was seen at ``corners``."""
        self.filter.update(corners)
        self.misses = 0
        self.hit_streak += 1

    def restart(self, corners: Corners) -> None:
        """Go on from ``corners`` with unknown motion: what was known of it no longer holds."""
        self.filter = BoxFilter(corners)
        self.misses = 0


class Sort:
    """Follows boxes over frames.

    ``max_age`` is how many frames a track outlives its last sight, ``min_hits`` how often in a row it must be
    seen before it is reported (not asked of the first frames), ``iou_threshold`` the least overlap of a box
    with where its track is expected. ``update`` does a whole frame; a caller that looks for the boxes where
    they are expected calls ``predict``, looks, and then ``correct``.
    """

    def __init__(self, max_age: int = 1, min_hits: int = 3, iou_threshold: float = 0.3) -> None:
        self.max_age = max_age
        self.min_hits = min_hits
        self.iou_threshold = iou_threshold
        self._tracks: list[SortTrack] = []
        self._numbers = count(1)
        self._frames = 0

    @property
    def tracks(self) -> tuple[SortTrack, ...]:
        """Every living track, oldest first."""
        return tuple(self._tracks)

    def update(self, boxes: Corners) -> list[SortTrack]:
        """Take in the (n, 4) boxes of the next frame; the tracks that are seen in it and confirmed."""
        self.predict()
        self.correct(boxes)
        return self.confirmed()

    def predict(self) -> None:
        """Move every track one frame on; tracks whose motion has diverged die."""
        self._frames += 1
        for track in self._tracks:
            track.predict()
        self._tracks = [track for track in self._tracks if math.isfinite(sum(track.corners.tolist()))]

    def correct(self, boxes: Corners) -> list[SortTrack]:
        """Give each of the (n, 4) boxes to the track that expects it or a new one; the track of each box."""
        expected = np.array([track.corners for track in self._tracks]).reshape(-1, 4)
        association = associate(boxes, expected, self.iou_threshold)
        owners: dict[int, SortTrack] = {}
        for seen, known in association.pairs:
            owners[seen] = self._tracks[known]
            owners[seen].see(boxes[seen])
        for seen in association.unexpected:
            owners[seen] = SortTrack(next(self._numbers), boxes[seen])
            self._tracks.append(owners[seen])
        self._tracks = [track for track in self._tracks if track.misses <= self.max_age]
        return [owners[index] for index in range(len(boxes))]

    def confirmed(self) -> list[SortTrack]:
        """The tracks seen in this frame and, but for the first frames, often enough in a row before it."""
        return [track for track in self._tracks if self._is_confirmed(track)]

    def remove(self, track: SortTrack) -> None:
        """Forget one track."""
        self._tracks.remove(track)

    def revive(self, track: SortTrack, corners: Corners) -> None:
        """Take a track back that has died because its motion diverged, at rest at ``corners``."""
        misses = track.misses
        track.restart(corners)
        track.misses = misses
        self._tracks.append(track)

    def clear(self) -> None:
        """Forget every track; numbers are not used again."""
        self._tracks.clear()
        self._frames = 0

    def _is_confirmed(self, track: SortTrack) -> bool:
        confirmed = track.hit_streak >= self.min_hits or self._frames <= self.min_hits
        return track.misses == 0 and confirmed
