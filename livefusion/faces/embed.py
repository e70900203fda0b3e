"""SFace embeddings: whose face is it (Zhong et al., "SFace", IEEE TIP 2021; OpenCV Zoo)."""

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.frame import Frame
from livefusion.devices.device import Device, Event
from livefusion.faces.align import align_face
from livefusion.faces.landmarks import crop_photo
from livefusion.inference.network import BoundNetwork, Loaded
from livefusion.ops.registry import NV12_WARP_NORM

CROP = 112
SAME_PERSON = 0.363
"""Cosine from which two embeddings are of one person (OpenCV Zoo's threshold)."""

Embedding = npt.NDArray[np.float32]
"""(128,) float32 of unit length."""


def unit(embedding: npt.NDArray[np.float32]) -> Embedding:
    """The embedding at unit length, as a new array."""
    flat = embedding.reshape(-1)
    return (flat / max(float(np.linalg.norm(flat)), 1e-9)).astype(np.float32)


def cosine(first: Embedding, second: Embedding) -> float:
    """Cosine of two unit embeddings, in [−1, 1]."""
    return float(first @ second)


def embed_photo(session: Loaded, rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> Embedding:
    """The embedding of a face in a (height, width, 3) RGB photo."""
    crop = crop_photo(rgb, align_face(landmarks), CROP)
    image = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], dtype=np.float32)
    return unit(session.run({"image": image})["embedding"])


class LiveRecogniser:
    """Embeds faces of live frames. ``crop`` belongs to the frame's thread, ``embed`` to the detector's."""

    def __init__(self, device: Device, session: Loaded) -> None:
        self._device = device
        self._path = device.stream("recognise")
        self._beside = device.stream("recogniser")
        self._network = BoundNetwork(device, session, "sface", (1, 3, CROP, CROP), {"embedding": (1, 128)})
        self._free: Event | None = None

    def crop(self, frame: Frame, landmarks: Landmarks) -> Event:
        """Copy an aligned face, not before the last one is embedded; the event is behind the frame's read."""
        self._path.wait(self._free)
        self._path.wait(frame.buffer.ready)
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "out": self._network.image,
            "matrices": (align_face(landmarks),),
            "color": frame.color,
        }
        self._device.launch(NV12_WARP_NORM, arguments, self._path)
        self._free = self._path.record()
        return self._free

    def embed(self) -> Embedding:
        """The (128,) unit embedding of the face copied last."""
        self._beside.wait(self._free)
        self._network.launch(self._beside)
        self._free = self._beside.record()
        self._free.synchronize()
        return unit(self._network.output("embedding"))
