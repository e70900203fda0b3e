"""SFace embeddings: whose face is it (Zhong et al., "SFace", IEEE TIP 2021; OpenCV Zoo)."""

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.faces.align import align_face
from livefusion.faces.landmarks import crop_photo
from livefusion.faces.network import Loaded

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
