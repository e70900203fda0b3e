"""A detector that a user brings, on photos."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Size
from livefusion.faces.detectors import detector_entry, detector_format, open_detector
from livefusion.inference.catalog import ModelFile
from livefusion.inference.session import Session
from livefusion.ops.fit import letterbox_size

STILL = Size(640, 640)
"""What a detector of any size sees of a photo."""


class PhotoDetector:
    """Finds upright faces in photos. One thread at a time."""

    def __init__(self, model: ModelFile, device_name: str = "cpu") -> None:
        """``ModelError`` if the file is no detector that is known."""
        form, names = detector_format(model)
        entry = detector_entry(model)
        self._size = STILL if entry.loosened else form.landscape
        self._normalisation = form.normalisation
        self._decode = form.decoder(self._size)
        self._network = open_detector(Session(entry, device_name), names)

    def find(self, rgb: npt.NDArray[np.uint8], score: float = 0.5) -> list[FaceObservation]:
        """The faces in a (height, width, 3) RGB photo with at least this score, best first."""
        size = Size(rgb.shape[1], rgb.shape[0])
        inner = letterbox_size(size, self._size)
        shrunk = cv2.resize(rgb, (inner.width, inner.height), interpolation=cv2.INTER_AREA)
        picture = np.zeros((self._size.height, self._size.width, 3), np.float32)
        picture[: inner.height, : inner.width] = shrunk
        if self._normalisation.order == "bgr":
            picture = picture[..., ::-1]
        mean = np.array(self._normalisation.mean, np.float32)
        scale = np.array(self._normalisation.scale, np.float32)
        image = np.ascontiguousarray(((picture - mean) * scale).transpose(2, 0, 1)[None], np.float32)
        x, y = size.width / inner.width, size.height / inner.height
        to_photo = Affine([[x, 0, (x - 1) / 2], [0, y, (y - 1) / 2]])
        return self._decode(self._network.run({"image": image}), to_photo, score)
