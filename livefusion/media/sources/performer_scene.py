"""Who stands where in the performer's picture, and drawing one frame of it."""

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Box
from livefusion.media.sources.performer_backdrop import Grain, paint_backdrop
from livefusion.media.sources.performer_draw import Person
from livefusion.media.sources.performer_mesh import FACE_POINTS, PosedHead
from livefusion.media.sources.performer_motion import HeadPose, Motion
from livefusion.media.sources.performer_occluder import PassingOccluder
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_photo import load_performer_photos
from livefusion.media.sources.performer_truth import FaceTruth, OccluderTruth, covered

Plane = npt.NDArray[np.uint8]

_CROSSING_SECONDS = 8.0
# Where people stand, as shares of the picture's width: one alone, and two.
_PLACES = {1: (0.5,), 2: (0.31, 0.69)}
_SHOTS = 2
# After a cut the person is found elsewhere in the picture and at another point of the motion.
_SHOT_SHIFT, _SHOT_SECONDS = 0.16, 41.0


@dataclass(frozen=True, slots=True)
class _Standing:
    """One person in one frame: her number, place of her layer, pose and posed head."""

    person: int
    at: tuple[int, int]
    pose: HeadPose
    head: PosedHead


class PerformerScene:
    """Draws frame n into NV12 planes of ``options.size``, and tells the truth about it. One thread at a time.

    Both are pure functions of the options and n. ``ModelError`` if the performer's files cannot be used.
    """

    def __init__(self, options: PerformerOptions) -> None:
        self.options = options
        color = options.color
        photos = load_performer_photos()[: options.faces]
        self.people = [Person(photo, options.face, color) for photo in photos]
        self._motions = [
            Motion(
                options.seed + 7919 * i,
                loop=options.loop,
                expressive=options.expression,
                turn=options.turn,
            )
            for i in range(options.faces)
        ]
        self._grain = Grain(options.size, options.grain, options.seed) if options.grain else None
        shots = _SHOTS if options.cut else 1
        self._backdrops = [paint_backdrop(options.size, color, options.seed + shot) for shot in range(shots)]
        self._occluder = (
            PassingOccluder(options.occluder, options.face, color, options.loop) if options.occluder else None
        )

    def draw(self, frame: int, luma: Plane, chroma: Plane) -> None:
        """Draw frame ``frame`` into (h, w) luma and (h/2, w/2, 2) chroma."""
        frame = self._looped(frame)
        backdrop = self._backdrops[self._shot(frame)]
        np.copyto(luma, backdrop[0])
        np.copyto(chroma, backdrop[1])
        # The first person is in front.
        for standing in reversed(self._stand(frame)):
            self.people[standing.person].draw(standing.head, standing.at, luma, chroma)
        occluder = self._occluder_at(frame)
        if self._occluder is not None and occluder is not None:
            self._occluder.draw(luma, chroma, (occluder.x, occluder.y))
        if self._grain is not None:
            self._grain.add(luma, frame)

    def truth(self, frame: int) -> tuple[FaceTruth, ...]:
        """The faces in frame ``frame``, by person."""
        frame = self._looped(frame)
        occluder = self._occluder_at(frame)
        truths: list[FaceTruth] = []
        before: list[_Standing] = []
        for standing in self._stand(frame):
            landmarks = standing.head.landmarks + np.array([*standing.at, 0], np.float32)
            hidden = np.zeros(len(landmarks), np.bool_) if occluder is None else occluder.hides(landmarks)
            for nearer in before:
                hidden |= self._hides(nearer, landmarks)
            before.append(standing)
            box = Box.around(landmarks[:FACE_POINTS])
            truths.append(FaceTruth(standing.person, landmarks, box, standing.pose, hidden, occluder))
        return tuple(truths)

    def _looped(self, frame: int) -> int:
        loop = self.options.loop
        return frame if loop is None else frame % max(1, round(loop * self.options.fps))

    def _shot(self, frame: int) -> int:
        return frame // self.options.cut % _SHOTS if self.options.cut else 0

    def _seconds(self, frame: int) -> float:
        return float(frame / self.options.fps) + _SHOT_SECONDS * self._shot(frame)

    def _stand(self, frame: int) -> list[_Standing]:
        seconds = self._seconds(frame)
        poses = [motion.at(seconds) for motion in self._motions]
        return [
            _Standing(i, self._corner(i, frame), pose, self.people[i].posed(pose))
            for i, pose in enumerate(poses)
        ]

    def _corner(self, person: int, frame: int) -> tuple[int, int]:
        """Where the top left corner of a person's layer lies."""
        size, face = self.options.size, self.options.face
        x, y = self.people[person].face_centre
        # High enough for a portrait, but never so high that the photo's lower edge shows.
        stands_at = max(0.42 * size.height, 0.62 * face, size.height - self.people[person].height + y)
        across = self._across(person, frame) * size.width
        return 2 * round((across - x) / 2), 2 * round((stands_at - y) / 2)

    def _across(self, person: int, frame: int) -> float:
        """The place of a face between the left (0) and right (1) edge of the picture."""
        if self.options.crossing:
            period = _CROSSING_SECONDS
            if self.options.loop is not None:
                period = self.options.loop / max(1, round(self.options.loop / period))
            way = 0.24 * math.cos(2 * math.pi * float(frame / self.options.fps) / period)
            return 0.5 - way if person == 0 else 0.5 + way
        return _PLACES[self.options.faces][person] + _SHOT_SHIFT * self._shot(frame)

    def _occluder_at(self, frame: int) -> OccluderTruth | None:
        if self._occluder is None:
            return None
        corner, centre = self._corner(0, frame), self.people[0].face_centre
        x, y = self._occluder.at(self._seconds(frame), (corner[0] + centre[0], corner[1] + centre[1]))
        return OccluderTruth(x, y, self._occluder.alpha)

    def _hides(self, nearer: _Standing, points: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
        """Which points in picture pixels lie behind a nearer person."""
        person, corner = self.people[nearer.person], np.array(nearer.at)
        outline = person.outline(nearer.head) + corner.astype(np.float32)
        inside = [cv2.pointPolygonTest(outline, (float(x), float(y)), False) >= 0 for x, y in points[:, :2]]
        return np.array(inside) | covered(person.body_alpha, points[:, :2] - corner)
