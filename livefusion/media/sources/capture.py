"""What a camera is to its source: something that is opened and gives pictures."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from livefusion.core.errors import DriverError
from livefusion.core.geometry import Size


@dataclass(frozen=True, slots=True)
class CameraRequest:
    """Which camera, and what it is asked for; it may deliver something else."""

    device: str
    size: Size | None = None
    fps: float | None = None


class Capture(Protocol):
    """An open camera. Used on one thread."""

    @property
    def codec(self) -> str:
        """FFmpeg's name of what the camera sends: ``mjpeg``, ``rawvideo``."""
        ...

    @property
    def fps(self) -> Fraction:
        """The frame rate that the driver promises."""
        ...

    @property
    def backend(self) -> str:
        """The library and the system interface behind it, for people: ``v4l2``, ``OpenCV V4L2``."""
        ...

    def read(self) -> tuple[Any, int | None]:
        """The next ``av.VideoFrame``, and the monotonic time in ns at which it was captured, if it is known.

        ``DriverError`` when the camera is gone.
        """
        ...

    def close(self) -> None:
        """Let the camera go."""
        ...


CameraOpener = Callable[[CameraRequest], Capture]


@dataclass(frozen=True, slots=True)
class CameraInfo:
    """A camera of this machine: what to write behind ``camera:``, and its name."""

    device: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} (camera:{self.device})" if self.name else f"camera:{self.device}"


def list_cameras() -> list[CameraInfo]:
    """The cameras of this machine, as far as its system tells."""
    if platform.system() == "Linux":
        from livefusion.media.sources.v4l2 import list_video_nodes

        return [CameraInfo(device, name) for device, name in list_video_nodes()]
    from livefusion.media.sources.camera_av import list_devices

    return [CameraInfo(device, name) for device, name in list_devices()]


def open_camera(request: CameraRequest) -> Capture:
    """Open a camera through PyAV, or through OpenCV where that fails. ``DriverError`` if both do."""
    from livefusion.media.sources.camera_av import AvCapture
    from livefusion.media.sources.camera_cv import CvCapture

    try:
        return AvCapture(request)
    except DriverError as error:
        try:
            return CvCapture(request)
        except DriverError:
            # PyAV says why; OpenCV only says that it failed.
            raise error from None
