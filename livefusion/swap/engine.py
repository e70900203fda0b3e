"""What every way of making a new face has in common."""

from collections.abc import Sequence
from typing import Protocol

from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Stream
from livefusion.inference.session import Session


class SwapEngine(Protocol):
    """Makes the face of an identity with the pose, expression and gaze of a tracked face.

    ``swap`` is called on the render thread alone; ``prepare`` may run on another one at the same time, so
    that an identity can be switched without a stall.
    """

    @property
    def name(self) -> str:
        """Name for settings and reports: ``mesh``, or that of a network."""
        ...

    @property
    def networks(self) -> tuple[Session, ...]:
        """The networks that it runs, for reports."""
        ...

    def prepare(self, identity: Identity) -> None:
        """Get an identity ready, off the live path; doing it again costs nothing."""
        ...

    def warm_up(self) -> None:
        """Compile or load whatever the first ``swap`` would have to wait for."""
        ...

    def look(self, frame: Frame, tracks: Sequence[FaceTrack]) -> None:
        """Take note of all faces of a frame that ``swap`` will be asked for, in that order.

        An engine may make several of them at once then, from the frame as it is when the first is asked for.
        Without it each face is made by itself.
        """
        ...

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """The new face over ``track``, in stream order; None if the face lies outside the picture.

        ``GraphError`` if the track has no landmarks or the identity was not prepared. Colour, light and
        opacity are the blend's.
        """
        ...
