"""The performer's head as a mesh: the face turns in space, hair and neck follow, eyes and mouth move.

Round the 468 face points lie rings of further vertices, from the oval out to where nothing moves. A ring
vertex moves by the inverse-distance mean of how the oval moves, so the sheet agrees with the face at the oval
and tears nowhere. Eyeballs and teeth are vertices of their own behind lids and lips.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from livefusion.media.sources.performer_motion import HeadPose

Points = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int32]

FACE_POINTS = 468
# Loops of the MediaPipe face mesh; those of lids and lips run from one corner to the other.
OVAL = (
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377,
    152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
)  # fmt: skip
TEMPLES = (OVAL[3:13], OVAL[24:34])
UPPER_LIDS = ((246, 161, 160, 159, 158, 157, 173), (466, 388, 387, 386, 385, 384, 398))
LOWER_LIDS = ((7, 163, 144, 145, 153, 154, 155), (249, 390, 373, 374, 380, 381, 382))
LID_CREASES = ((247, 30, 29, 27, 28, 56, 190), (467, 260, 259, 257, 258, 286, 414))
EYE_CORNERS = ((33, 133), (263, 362))
UPPER_LIP = (78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308)
LOWER_LIP = (78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308)

# How far a full blink takes each line of the lid towards the lower lid, of the eye's opening.
_UPPER_LID_WAY, _CREASE_WAY, _LOWER_LID_WAY = 0.9, 0.3, -0.08
# How far the lower lip falls when the mouth is wide open, in face heights.
_JAW_WAY = 0.085
# The head turns about a point this far behind the middle of the face, in face widths.
_PIVOT_DEPTH = 0.35
# What lies in a socket is this much deeper, in face heights, so that lids and lips cover it.
_SOCKET_DEPTH = 0.02
# Hair hangs before the temples and the neck lies behind the jaw: depth of the sheet in face heights, and how
# far below the middle of the oval the one ends and the other begins. Hair behind the face had a hard edge.
_SHEET_DEPTH, _HAIR_ENDS, _NECK_BEGINS = 2.0, 0.12, 0.22

# The head with its hair and chin is this ellipse, in face heights about the middle of the oval; up to it the
# sheet moves with the face, and beyond the still ellipse it does not move at all.
_HEAD_CENTRE, _HEAD_RADII = (0.0, -0.17), (0.72, 0.79)
_STILL = 1.85
# Places of the rings between oval (0) and still ellipse (1): close together where the sheet is bent most.
_RINGS = (0.05, 0.11, 0.18, 0.26, 0.35, 0.45, 0.56, 0.68, 0.8, 0.9, 1.0)
_INNER_RINGS = 4


@dataclass(frozen=True, slots=True, eq=False)
class PosedHead:
    """``vertices`` (n, 2) and ``depth`` (n,) for drawing, ``landmarks`` (478, 3) as the truth; float32."""

    vertices: npt.NDArray[np.float32]
    depth: npt.NDArray[np.float32]
    landmarks: npt.NDArray[np.float32]


class HeadMesh:
    """The mesh of one head, made from landmarks at rest in pixels of the texture.

    ``uv`` (n, 2) float32 are the texels of the vertices, ``triangles`` (m, 3) int32 what is drawn.
    ``dark`` are the texel rows (first, last) that show the inside of the mouth.
    """

    def __init__(self, landmarks: Points, triangles: Indices, dark: tuple[float, float]) -> None:
        self._rest = landmarks
        oval = landmarks[list(OVAL)]
        self.height = float(np.ptp(oval[:, 1]))
        self.width = float(np.ptp(oval[:, 0]))
        self._pivot = self._rest[:FACE_POINTS].mean(axis=0) + np.array([0, 0, _PIVOT_DEPTH * self.width])
        self._jaw = _jaw_shares(self._rest, self.height)
        self._sheet = _Sheet(oval[:, :2], self.height)
        self._eyes = [
            i for lids in zip(UPPER_LIDS, LOWER_LIDS, EYE_CORNERS, strict=True) for i in sum(lids, ())
        ]
        sockets = [landmarks[self._eyes, :2], landmarks[list(LOWER_LIP), :2]]
        dark_x = landmarks[list(LOWER_LIP), :1]
        throat = [np.column_stack([dark_x, np.full_like(dark_x, row)]) for row in dark]
        parts = [landmarks[:FACE_POINTS, :2], *sockets, *throat, self._sheet.rest]
        self.uv = np.concatenate(parts).astype(np.float32)
        self.triangles = self._join(triangles)

    @property
    def still_outline(self) -> Points:
        """The closed line (n, 2) beyond which nothing moves."""
        return self._sheet.rest[-len(OVAL) :]

    @property
    def inner_rings(self) -> Indices:
        """The vertices of the sheet next to the oval."""
        first = len(self.uv) - len(self._sheet.rest)
        return np.arange(first, first + _INNER_RINGS * len(OVAL), dtype=np.int32)

    def posed(self, pose: HeadPose) -> PosedHead:
        """The head in a pose, in pixels of the texture."""
        turn = _rotation(pose) * pose.scale
        shift = self._pivot + self.height * np.array([*pose.shift, 0])
        calm = (self._rest - self._pivot) @ turn.T + shift
        moved = (self._express(pose) - self._pivot) @ turn.T + shift
        moved[FACE_POINTS:] = calm[FACE_POINTS:]
        behind = np.array([0, 0, _SOCKET_DEPTH * self.height])
        oval = list(OVAL)
        teeth = calm[list(LOWER_LIP)] + behind
        lip = moved[list(LOWER_LIP)] + behind
        sheet = self._sheet.moved(moved[oval, :2])
        parts = [
            moved[:FACE_POINTS],
            calm[self._eyes] + behind,
            teeth,
            teeth,
            lip,
            np.column_stack([sheet, self._sheet.depth]),
        ]
        points = np.concatenate(parts).astype(np.float32)
        return PosedHead(points[:, :2].copy(), points[:, 2].copy(), moved.astype(np.float32))

    def _express(self, pose: HeadPose) -> Points:
        """Landmarks at rest with lids and jaw moved."""
        points = self._rest.copy()
        for upper, lower, crease in zip(UPPER_LIDS, LOWER_LIDS, LID_CREASES, strict=True):
            opening = self._rest[list(lower)] - self._rest[list(upper)]
            for line, way in ((upper, _UPPER_LID_WAY), (crease, _CREASE_WAY), (lower, _LOWER_LID_WAY)):
                points[list(line)] += pose.blink * way * opening
        points[:, 1] += pose.mouth * _JAW_WAY * self.height * self._jaw
        return points

    def _join(self, triangles: Indices) -> Indices:
        """The face without its mouth's inside and with eyes of their own, then mouth and sheet."""
        eye_at = {point: FACE_POINTS + i for i, point in enumerate(self._eyes)}
        mouth = set(UPPER_LIP + LOWER_LIP)
        sides = [set(self._eyes[:16]), set(self._eyes[16:])]
        face: list[list[int]] = []
        for corners in triangles.tolist():
            if mouth.issuperset(corners):
                continue
            is_eye = any(side.issuperset(corners) for side in sides)
            face.append([eye_at[corner] for corner in corners] if is_eye else corners)
        count = len(LOWER_LIP)
        teeth = FACE_POINTS + len(self._eyes)
        rows = [list(UPPER_LIP), *(list(range(teeth + k * count, teeth + (k + 1) * count)) for k in range(3))]
        mouth_strips = [*_strip(rows[0], rows[1]), *_strip(rows[2], rows[3])]
        sheet = self._sheet.triangles(list(OVAL), teeth + 3 * count)
        return np.array([*face, *mouth_strips, *sheet], np.int32)


class _Sheet:
    """Hair, neck and shoulders: rings from the oval to a still ellipse."""

    def __init__(self, oval: Points, height: float) -> None:
        self._oval = oval
        middle = (oval.min(axis=0) + oval.max(axis=0)) / 2
        centre = middle + height * np.array(_HEAD_CENTRE)
        radii = height * np.array(_HEAD_RADII)
        outer = _on_ellipse(oval, middle, centre, _STILL * radii)
        self.rest: Points = np.concatenate([oval + ring * (outer - oval) for ring in _RINGS])
        distance = ((self.rest[:, None] - oval[None]) ** 2).sum(axis=2)
        shares = 1 / (distance + (0.03 * height) ** 2) ** 2
        below = np.tile((oval[:, 1] - middle[1]) / height, len(_RINGS))
        neck = np.clip((below - _HAIR_ENDS) / (_NECK_BEGINS - _HAIR_ENDS), 0, 1)
        self.depth: Points = _SHEET_DEPTH * height * (2 * neck - 1)
        beyond = np.hypot(*((self.rest - centre) / radii).T)
        follows = 1 - _smooth_step((beyond - 1) / (_STILL - 1))
        follows[-len(oval) :] = 0
        self._shares: Points = shares / shares.sum(axis=1, keepdims=True) * follows[:, None]

    def moved(self, oval: Points) -> Points:
        """The ring vertices when the oval has moved."""
        moved: Points = self.rest + self._shares @ (oval - self._oval)
        return moved

    def triangles(self, oval: list[int], first: int) -> list[list[int]]:
        """Triangles between the rings, whose vertices are numbered from ``first``."""
        count = len(oval)
        rings = [oval, *(list(range(first + k * count, first + (k + 1) * count)) for k in range(len(_RINGS)))]
        return [
            triangle
            for inner, outer in pairwise(rings)
            for triangle in _strip([*inner, inner[0]], [*outer, outer[0]])
        ]


def _strip(first: list[int], second: list[int]) -> list[list[int]]:
    """Two triangles for each step along two lines of equal length."""
    steps = zip(first, first[1:], second, second[1:], strict=False)
    return [triangle for a, b, c, d in steps for triangle in ([a, b, c], [b, d, c])]


def _on_ellipse(points: Points, start: Points, centre: Points, radii: Points) -> Points:
    """Where the rays from ``start`` through ``points`` leave an ellipse that holds ``start``."""
    ray, offset = (points - start) / radii, (start - centre) / radii
    a, b, c = (ray**2).sum(axis=1), ray @ offset, float(offset @ offset) - 1
    reach = (np.sqrt(b**2 - a * c) - b) / a
    on: Points = start + reach[:, None] * (points - start)
    return on


def _jaw_shares(rest: Points, height: float) -> Points:
    """How much each landmark follows the jaw: 1 at the lower lip and chin, 0 above the line of the mouth."""
    upper = rest[list(UPPER_LIP)]
    middle, half = upper[:, 0].mean(), np.ptp(upper[:, 0]) / 2
    line = np.interp(rest[:, 0], upper[:, 0], upper[:, 1])
    aside = np.abs(rest[:, 0] - middle)
    rise = height * np.interp(aside / half, (0, 0.6, 1), (0.03, 0.05, 0.18))
    shares: Points = _smooth_step((rest[:, 1] - line) / rise) * (1 - _smooth_step((aside / half - 0.9) / 1.2))
    return shares


def _rotation(pose: HeadPose) -> Points:
    """Roll after pitch after yaw, y down and z away from the viewer."""
    yaw, pitch, roll = map(math.radians, (-pose.yaw, pose.pitch, pose.roll))
    cos, sin = math.cos, math.sin
    about_y = np.array([[cos(yaw), 0, sin(yaw)], [0, 1, 0], [-sin(yaw), 0, cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, cos(pitch), -sin(pitch)], [0, sin(pitch), cos(pitch)]])
    about_z = np.array([[cos(roll), -sin(roll), 0], [sin(roll), cos(roll), 0], [0, 0, 1]])
    rotation: Points = about_z @ about_x @ about_y
    return rotation


def _smooth_step(value: Points) -> Points:
    """0 below 0, 1 above 1, and smooth in between."""
    share = np.clip(value, 0, 1)
    smooth: Points = share * share * (3 - 2 * share)
    return smooth
