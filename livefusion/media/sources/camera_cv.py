"""Cameras through OpenCV, where FFmpeg's device inputs cannot open them."""

import platform
from fractions import Fraction
from typing import Any

import av
import cv2
import numpy as np

from livefusion.core.errors import DriverError
from livefusion.media.sources.capture import CameraRequest

_DEFAULT_FPS = 30
# Named, because CAP_ANY would also take a video file for a camera.
_BACKENDS = {"Linux": cv2.CAP_V4L2, "Windows": cv2.CAP_MSMF, "Darwin": cv2.CAP_AVFOUNDATION}


class CvCapture:
    """A camera as OpenCV opens it: no capture times, and pictures already converted to BGR."""

    def __init__(self, request: CameraRequest) -> None:
        self._device = request.device
        self._camera = _open(request.device)
        if not self._camera.isOpened():
            raise DriverError(f"camera {request.device} cannot be opened", "see `livefusion doctor`")
        self._camera.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        if request.size is not None:
            self._camera.set(cv2.CAP_PROP_FRAME_WIDTH, request.size.width)
            self._camera.set(cv2.CAP_PROP_FRAME_HEIGHT, request.size.height)
        if request.fps is not None:
            self._camera.set(cv2.CAP_PROP_FPS, request.fps)

    @property
    def codec(self) -> str:
        """``rawvideo``: what comes out of OpenCV is never compressed."""
        return "rawvideo"

    @property
    def fps(self) -> Fraction:
        """The frame rate that the driver promises."""
        rate = self._camera.get(cv2.CAP_PROP_FPS)
        return Fraction(rate).limit_denominator(1001) if 0 < rate <= 1000 else Fraction(_DEFAULT_FPS)

    @property
    def backend(self) -> str:
        """OpenCV and its backend."""
        return f"OpenCV {self._camera.getBackendName()}"

    def read(self) -> tuple[Any, int | None]:
        """The next picture. ``DriverError`` when the camera is gone."""
        ok, pixels = self._camera.read()
        if not ok:
            raise DriverError(f"camera {self._device} stopped", "plug it in again")
        return av.VideoFrame.from_ndarray(np.asarray(pixels, np.uint8), format="bgr24"), None

    def close(self) -> None:
        """Let the camera go."""
        self._camera.release()


def _open(device: str) -> cv2.VideoCapture:
    """Open without the lines that OpenCV writes to stderr by itself."""
    backend = _BACKENDS.get(platform.system(), cv2.CAP_ANY)
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        return cv2.VideoCapture(int(device) if device.isdigit() else device, backend)
    finally:
        cv2.utils.logging.setLogLevel(level)
