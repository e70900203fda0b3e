"""Who is in which persona. A contributor is a photo and about where the nose tip is in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contributor:
    """One face of a photo: file name, nose tip in pixels, and how much it counts beside the others."""

    photo: str
    x: int
    y: int
    share: float = 1.0

    def __str__(self) -> str:
        return f"{self.photo}@{self.x},{self.y}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A persona: its name, how it is called for people, its skin tone in CIELAB, and who is in it."""

    name: str
    label: str
    tone: tuple[float, float, float]
    contributors: tuple[Contributor, ...]


# Whoever lies near the mean of all resembles it most, and so counts less. Nobody is in it twice.
# Faces with paint, closed by a hand, blurred or turned by more than 31° are left out.
_LIGHT = (
    Contributor("sample2.jpg", 1534, 330),
    Contributor("sample3.jpg", 1137, 398, 0.6),
    Contributor("sample3.jpg", 663, 495, 0.5),
    Contributor("sample3.jpg", 1629, 475),
    Contributor("sample5.jpg", 1466, 580),
    Contributor("sample6.jpg", 1553, 463),
)
_DARK = (
    Contributor("sample4.jpg", 702, 208, 0.7),
    Contributor("sample4.jpg", 400, 356, 0.8),
    Contributor("sample5.jpg", 493, 1050, 0.75),
    Contributor("sample5.jpg", 1175, 333),
    Contributor("sample5.jpg", 892, 250),
    Contributor("sample6.jpg", 396, 675, 0.3),
    Contributor("sample6.jpg", 1279, 510, 0.75),
)

RECIPES = (
    Recipe("alex", "Alex", (68.0, 15.0, 18.0), _LIGHT + _DARK),
    Recipe("noor", "Noor", (60.0, 16.0, 22.0), _DARK),
    Recipe("robin", "Robin", (73.0, 14.0, 15.0), _LIGHT),
)
