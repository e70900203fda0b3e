"""What a measure is."""

from typing import Protocol

from livefusion.evaluation.figure import Figures
from livefusion.evaluation.view import FaceView


class Measure(Protocol):
    """Looks at every swapped face of a clip, then gives its figures."""

    @property
    def name(self) -> str:
        """The group of the document that its figures belong to."""
        ...

    def add(self, view: FaceView) -> None:
        """Look at one face in one picture; those of one face come in order."""
        ...

    def figures(self) -> Figures:
        """What was found."""
        ...
