"""A virtual camera: other programs see the picture as that of a webcam.

Needs pyvirtualcam, which is under the GPL, version 2; hence it is an optional extra and imported only here,
when somebody asks for this output.
"""

import sys
from typing import Any

import cv2
import numpy as np

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import DriverError
from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.devices.device import Device
from livefusion.media.formats import OutputFormat
from livefusion.media.host import Fitter, HostPictures
from livefusion.media.recolor import Recolorer
from livefusion.media.sinks.sink import SinkStats
from livefusion.media.sinks.vcam_writer import Write, choose_write, open_descriptors
from livefusion.runtime.stage import StageContext

_LOOPBACK = (
    "sudo apt install v4l2loopback-dkms && "
    'sudo modprobe v4l2loopback devices=1 exclusive_caps=1 card_label="LiveFusion (AI)"'
)
# What readers take for granted, because no tag reaches them.
_WEBCAM = ColorInfo(matrix=Matrix.BT601, range=Range.LIMITED)
_OBS = "install OBS Studio, start its virtual camera once and stop it again"
REMEDY = f"{_LOOPBACK if sys.platform == 'linux' else _OBS}; `livefusion doctor` says more"
"""What to do where there is no virtual camera."""
_BUSY = "close what uses it, or name another one: vcam:/dev/videoN"
_REFUSED = (
    "close other programs that write to it, and load its driver again if it stays so; it is tried again"
)


class VirtualCameraSink:
    """Sends I420 pictures of one size, in the colours that webcams have: BT.601, limited range.

    The size is fixed when the camera is opened, because readers do not follow a change; later pictures are
    fitted into it. ``device`` is the system's name of the camera, the first free one if empty.
    """

    def __init__(self, device: Device, output: OutputFormat, *, camera: str = "") -> None:
        self._host = HostPictures(device)
        self._output = output
        self._camera_name = camera
        self._camera: Any = None
        self._write: Write | None = None
        self._fitter = Fitter(output.size)
        self._recolorer = Recolorer(_WEBCAM)
        width, height = output.size.width, output.size.height
        self._i420 = np.empty((height * 3 // 2, width), np.uint8)
        self._luma = self._i420[:height]
        chroma = self._i420[height:].reshape(2, height // 2, width // 2)
        self._cb, self._cr = chroma[0], chroma[1]
        self._stats = SinkStats(f"vcam:{camera}")

    @property
    def stats(self) -> SinkStats:
        """What was sent so far."""
        return self._stats

    def open(self, context: StageContext) -> None:
        """Take the virtual camera. ``DriverError`` if pyvirtualcam or the driver is missing or refuses."""
        module = _import_pyvirtualcam()
        size, before = self._output.size, open_descriptors()
        try:
            self._camera = module.Camera(
                size.width,
                size.height,
                float(self._output.fps),
                fmt=module.PixelFormat.I420,
                device=self._camera_name or None,
            )
        except (RuntimeError, ValueError, OSError) as error:
            reason = _reason(error)
            is_missing = "loopback device found" in reason
            text = (
                "there is no virtual camera"
                if is_missing
                else f"the virtual camera cannot be used ({reason})"
            )
            raise self._failure(text, _BUSY if "already in use" in reason else REMEDY) from error
        is_native = self._camera.native_fmt == module.PixelFormat.I420
        self._write = choose_write(self._camera, is_native, before)

    def write(self, item: RenderedFrame) -> None:
        """Send a picture. ``DriverError`` if the driver refuses it, or takes less than all of it."""
        assert self._write is not None, "open comes first"
        frame = item.frame
        planes = self._fitter.fit(*self._host.planes(frame), frame.color.range)
        luma, chroma = self._recolorer.recolor(*planes, frame.color)
        np.copyto(self._luma, luma)
        cv2.split(chroma, (self._cb, self._cr))
        try:
            self._write(self._i420)
        except (RuntimeError, ValueError, OSError) as error:
            text = f"the virtual camera does not take the picture ({_reason(error)})"
            raise self._failure(text, _REFUSED) from error
        self._stats.frames += 1
        self._stats.bytes += self._i420.nbytes

    def handle(self, event: Event) -> None:
        """Do nothing: a change of size is seen in the frames."""

    def close(self) -> None:
        """Give the virtual camera back."""
        camera, self._camera, self._write = self._camera, None, None
        if camera is not None:
            camera.close()

    def _failure(self, text: str, remedy: str) -> DriverError:
        self._stats.errors.append(text)
        return DriverError(text, remedy)


def _import_pyvirtualcam() -> Any:
    try:
        import pyvirtualcam
    except ImportError as error:
        raise DriverError(
            "virtual cameras need the package pyvirtualcam, which is under the GPL",
            "start with `uv run --extra cpu --extra vcam livefusion …`, which installs it",
        ) from error
    return pyvirtualcam


def _reason(error: Exception) -> str:
    """The first line of what was wrong."""
    told = error.strerror if isinstance(error, OSError) else None
    lines = [line.strip() for line in str(told or error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
