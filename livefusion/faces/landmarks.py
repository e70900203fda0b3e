"""478 points of a face, and how sure the network is that there is one.

MediaPipe Face Landmarker (float16, version 1), converted; the model card is "MediaPipe Face Mesh V2".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine
from livefusion.devices.device import Device, Stream
from livefusion.faces.roi import Roi
from livefusion.inference.network import BoundNetwork, Loaded
from livefusion.ops.registry import NV12_WARP_NORM

CROP = 256
_OUTPUTS = {"landmarks": (1, 478, 3), "presence": (1,)}
# The network counts from the edge of the crop; pixel centres are whole numbers here.
_HALF_PIXEL = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class FaceMesh:
    """The (478, 3) landmarks in frame pixels and the presence score in [0, 1]."""

    landmarks: Landmarks
    presence: float


class Landmarker:
    """Finds landmarks in live NV12 frames, with buffers for ``faces`` a frame. One thread at a time."""

    def __init__(self, device: Device, session: Loaded, stream: Stream, faces: int = 1) -> None:
        self._device = device
        self._session = session
        self._stream = stream
        self._network = self._bound(faces)

    def reserve(self, faces: int) -> None:
        """Make buffers for so many faces a frame now and not when they appear."""
        if faces > self._network.count:
            self._network = self._bound(faces)

    def find(self, frame: Frame, rois: Sequence[Roi]) -> list[FaceMesh]:
        """The mesh in each region; the stream has waited for the frame, which is read when this returns."""
        if not rois:
            return []
        self.reserve(len(rois))
        network, count = self._network, len(rois)
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "matrices": [roi.to_crop(CROP) for roi in rois],
            "color": frame.color,
            "scale": 1 / 255,
            "out": network.image[:count],
        }
        self._device.launch(NV12_WARP_NORM, arguments, self._stream)
        network.launch(self._stream, count)
        self._stream.record().synchronize()
        return [
            _mesh(network.output("landmarks", index), network.output("presence", index), roi)
            for index, roi in enumerate(rois)
        ]

    def _bound(self, faces: int) -> BoundNetwork:
        shape = (1, 3, CROP, CROP)
        return BoundNetwork(self._device, self._session, "face_landmarks", shape, _OUTPUTS, count=faces)


def landmarks_of_photo(session: Loaded, rgb: npt.NDArray[np.uint8], roi: Roi) -> FaceMesh:
    """The mesh in a region of a (height, width, 3) RGB photo."""
    crop = crop_photo(rgb, roi.to_crop(CROP), CROP)
    image = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], dtype=np.float32) / 255
    found = session.run({"image": image})
    return _mesh(found["landmarks"], found["presence"], roi)


def crop_photo(rgb: npt.NDArray[np.uint8], to_crop: Affine, size: int) -> npt.NDArray[np.uint8]:
    """A (size, size, 3) crop of a photo, averaged over whole blocks first where it shrinks by two or more."""
    shrink = int(1 / np.sqrt(abs(np.linalg.det(to_crop.matrix[:, :2]))))
    if shrink >= 2:
        height, width = rgb.shape[0] // shrink, rgb.shape[1] // shrink
        blocks = rgb[: height * shrink, : width * shrink]
        rgb = cv2.resize(blocks, (width, height), interpolation=cv2.INTER_AREA).astype(np.uint8)
        offset = (shrink - 1) / 2
        to_crop = to_crop.after(Affine([[shrink, 0, offset], [0, shrink, offset]]))
    crop = cv2.warpAffine(rgb, to_crop.matrix, (size, size), flags=cv2.INTER_LINEAR)
    return crop.astype(np.uint8, copy=False)


def _mesh(points: npt.NDArray[np.float32], presence: npt.NDArray[np.float32], roi: Roi) -> FaceMesh:
    in_crop = points.reshape(-1, 3)
    landmarks = np.empty(in_crop.shape, np.float32)
    landmarks[:, :2] = roi.from_crop(CROP)(in_crop[:, :2] - np.float32(_HALF_PIXEL))
    landmarks[:, 2] = in_crop[:, 2] * np.float32(roi.side / CROP)
    if not np.isfinite(landmarks).all():  # an overflow in half precision: no face rather than a wild one
        return FaceMesh(np.zeros_like(landmarks), 0.0)
    return FaceMesh(landmarks, float(presence.reshape(-1)[0]))
