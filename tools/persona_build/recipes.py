"""Who is in which persona. A contributor is a photo and about where the nose tip is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contributor:
    """One face of a photo: name of the photo, and its nose tip in pixels."""

    photo: str
    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.photo}@{self.x},{self.y}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A persona: its name, how it is called for people, its skin tone in CIELAB, and who is in it.

    ``shares`` says by the key of a contributor how much it counts. The skin's difference from the even blend
    of ``kin`` is multiplied by ``away``, the shape's from the mean of all by ``shape_away``; ``moved`` are
    steps along the principal components of all shapes, in standard deviations. ``plain`` says how smooth the
    skin between the features is made, ``beard`` and ``brows`` how much of their darkness stays; ``age`` 0
    adds no marks of age, 1 makes the face about 60.
    """

    name: str
    label: str
    tone: tuple[float, float, float]
    shares: Mapping[str, float]
    kin: tuple[str, ...]
    away: float
    shape_away: float
    moved: tuple[float, ...]
    plain: float = 0.5
    beard: float = 0.5
    brows: float = 1.0
    age: float = 0.0

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """Who is in it, by share in the order of the recipe."""
        return tuple(CONTRIBUTORS[key] for key in self.shares)


# Faces with paint or glasses, closed by a hand, blurred or turned by more than 31° are left out; adults only.
CONTRIBUTORS: Mapping[str, Contributor] = {
    "f1": Contributor("face-api/sample2.jpg", 1534, 330),
    "f2": Contributor("face-api/sample3.jpg", 1137, 398),
    "f3": Contributor("face-api/sample3.jpg", 663, 495),
    "f4": Contributor("face-api/sample3.jpg", 1629, 475),
    "f5": Contributor("face-api/sample5.jpg", 1466, 580),
    "f6": Contributor("face-api/sample6.jpg", 1553, 463),
    "f7": Contributor("face-api/sample4.jpg", 702, 208),
    "f8": Contributor("face-api/sample4.jpg", 400, 356),
    "f9": Contributor("face-api/sample5.jpg", 493, 1050),
    "f10": Contributor("face-api/sample5.jpg", 1175, 333),
    "f11": Contributor("face-api/sample5.jpg", 892, 250),
    "f12": Contributor("face-api/sample6.jpg", 396, 675),
    "f13": Contributor("face-api/sample6.jpg", 1279, 510),
    "f14": Contributor("material-dashboard/team-1.jpg", 199, 240),
    "f15": Contributor("material-dashboard/team-5.jpg", 195, 162),
    "f16": Contributor("material-dashboard/ivana-squares.jpg", 227, 232),
    "f17": Contributor("soft-ui/kal-visuals.jpg", 504, 379),
    "f18": Contributor("soft-ui/team-1.jpg", 405, 378),
    "m1": Contributor("material-kit/marc.jpg", 199, 218),
    "m2": Contributor("material-kit/christian.jpg", 225, 183),
    "m3": Contributor("material-dashboard/team-4.jpg", 202, 198),
    "m4": Contributor("shards/avatar-3.jpeg", 201, 223),
    "m5": Contributor("soft-ui/charles.jpg", 415, 454),
    "m6": Contributor("volt/profile-picture-1.jpg", 304, 257),
    "m7": Contributor("sneat/1.png", 99, 122),
    "m8": Contributor("soft-ui/ivancik.jpg", 631, 359),
}
_ALL = tuple(CONTRIBUTORS)
_WOMEN, _MEN = tuple(key for key in _ALL if key[0] == "f"), tuple(key for key in _ALL if key[0] == "m")

RECIPES = (
    Recipe(
        "noor",
        "Noor",
        (58.0, 16.0, 22.0),
        {
            "f7": 0.16,
            "f8": 0.17,
            "f9": 0.1,
            "f10": 0.05,
            "f11": 0.15,
            "f12": 0.06,
            "f13": 0.1,
            "f14": 0.14,
            "f17": 0.07,
        },
        _WOMEN,
        away=1.7,
        shape_away=1.3,
        moved=(0.2, -0.4, 0.1, -1.0, -0.9, -0.2),
    ),
    Recipe(
        "alex",
        "Alex",
        (66.0, 15.0, 19.0),
        {
            "f8": 0.12,
            "f11": 0.12,
            "f12": 0.06,
            "f13": 0.06,
            "f14": 0.06,
            "f15": 0.1,
            "f16": 0.22,
            "f17": 0.1,
            "m2": 0.04,
            "m3": 0.06,
            "m5": 0.05,
        },
        _ALL,
        away=2.0,
        shape_away=1.6,
        moved=(1.8, -0.5, -1.1, 1.8, 1.2, 0.9),
    ),
    Recipe(
        "robin",
        "Robin",
        (73.0, 14.0, 15.0),
        {"f1": 0.14, "f2": 0.15, "f3": 0.14, "f4": 0.14, "f5": 0.14, "f6": 0.09, "f18": 0.12, "f15": 0.04},
        _WOMEN,
        away=1.6,
        shape_away=1.6,
        moved=(-1.8, 0.0, -1.8, -1.8, 0.9, -1.8),
    ),
    Recipe(
        "sam",
        "Sam",
        (69.0, 14.0, 18.0),
        {"m1": 0.13, "m2": 0.07, "m3": 0.09, "m7": 0.28, "m8": 0.31, "f4": 0.06, "f15": 0.06},
        _MEN,
        away=2.4,
        shape_away=1.7,
        moved=(1.5, 0.2, 1.7, 1.8, 0.7, -0.4),
        beard=0.05,
        brows=0.75,
    ),
    Recipe(
        "kai",
        "Kai",
        (48.0, 15.0, 21.0),
        {"m1": 0.03, "m2": 0.2, "m3": 0.17, "m4": 0.18, "m6": 0.2, "m7": 0.2},
        _MEN,
        away=2.0,
        shape_away=1.6,
        moved=(-1.2, 1.5, -1.8, -0.5, -1.8, 0.9),
        plain=0.2,
        beard=1.0,
    ),
    Recipe(
        "max",
        "Max",
        (66.0, 14.0, 17.0),
        {"f4": 0.12, "f11": 0.21, "f18": 0.19, "m2": 0.14, "m3": 0.07, "m5": 0.10, "m8": 0.15},
        _ALL,
        away=1.7,
        shape_away=1.4,
        moved=(-1.1, -1.8, 1.8, -1.8, -1.4, -0.4),
        beard=0.1,
        brows=0.8,
        age=1.0,
        plain=0.8,
    ),
    Recipe(
        "jo",
        "Jo",
        (70.0, 15.0, 16.0),
        {
            "f1": 0.1,
            "f5": 0.13,
            "f6": 0.07,
            "f8": 0.06,
            "f10": 0.19,
            "f12": 0.09,
            "f13": 0.08,
            "f15": 0.12,
            "f18": 0.06,
        },
        _WOMEN,
        away=2.2,
        shape_away=1.8,
        moved=(1.8, -0.9, 1.8, 0.5, 1.5, 1.8),
        age=0.8,
    ),
)
