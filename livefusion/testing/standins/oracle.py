"""What a stand-in's face must look like in the picture, worked out without the engine that is tested."""

from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import five_points
from livefusion.core.face import Landmarks
from livefusion.testing.standins import known
from livefusion.testing.standins.truth import Doubles, Truth, places

Rgb = npt.NDArray[np.uint8]
View = tuple[Rgb, Landmarks]

RECOGNISER_SIDE = 112


class Oracle:
    """Knows one stand-in, and whose face it makes. ``view`` is a picture of that person with landmarks.

    With a ``boost`` of n the crop is n times finer, and the stand-in sees every n-th pixel of every n-th row.
    ``weight`` is how far the new face is moved from the performer's, once ``look_at`` has seen that.
    """

    def __init__(
        self,
        truth: Truth,
        view: View,
        crop: Callable[[View, Doubles, int], Doubles],
        *,
        morph: float = 1.0,
        boost: int = 1,
        weight: float = 0.5,
    ) -> None:
        self._truth = truth
        self._boost = boost
        self._crop = crop
        self._told = told(truth, view, crop)
        self._tint = known.tint(truth, self._told, morph)
        self._share = 0.35 - 0.7 * weight

    def look_at(self, rgb: Rgb, landmarks: Landmarks) -> None:
        """See whose face the performer has, from which the new one is moved away."""
        his = told(self._truth, (rgb, landmarks), self._crop)
        if self._told is not None and his is not None and self._share:
            mixed = self._told * (1 - self._share) + his * self._share
            self._tint = known.tint(self._truth, mixed)

    def picture(self, rgb: Rgb, landmarks: Landmarks, points: Doubles | None = None) -> Doubles:
        """(h, w, 3) RGB in [0, 1]: the new face, of use where the picture shows the performer's.

        It is aligned by (5, 2) ``points``, those of the landmarks if they are left out.
        """
        truth, boost = self._truth, self._boost
        size = truth.size * boost
        five = five_points(landmarks) if points is None else points
        forth = similarity(five, places(truth.points, size))
        crop = cv2.warpAffine(
            rgb.astype(np.float32) / 255,
            forth,
            (size, size),
            flags=cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        channels = crop.transpose(2, 0, 1).astype(np.float64)
        face = np.empty_like(channels)
        for y, x in np.ndindex(boost, boost):
            tile = channels[:, y::boost, x::boost]
            face[:, y::boost, x::boost] = known.new_face(truth, tile, self._tint)
        back = cv2.warpAffine(
            face.transpose(1, 2, 0).astype(np.float32),
            forth,
            (rgb.shape[1], rgb.shape[0]),
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        )
        return np.clip(back.astype(np.float64), 0, 1)


def similarity(source: Doubles, target: Doubles) -> Doubles:
    """(2, 3) least-squares map without shear, from the normal equations of its four numbers."""
    rows, right = [], []
    for (x, y), (u, v) in zip(source.tolist(), target.tolist(), strict=True):
        rows += [[x, -y, 1, 0], [y, x, 0, 1]]
        right += [u, v]
    a, b, c, d = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0].tolist()
    return np.array([[a, -b, c], [b, a, d]])


def told(truth: Truth, view: View, crop: Callable[[View, Doubles, int], Doubles]) -> Doubles | None:
    """The latent or the picture that tells whose face to make."""
    if truth.identity == "none":
        return None
    if truth.identity == "picture":
        return crop(view, places(truth.picture_points, truth.picture_side), truth.picture_side)
    # SimSwap's and CSCS's recognisers see what their networks do; all others what InsightFace's do.
    points = truth.points if truth.recogniser in {"simswap_arcface", "cscs_arcface"} else "v2"
    picture = crop(view, places(points, RECOGNISER_SIDE), RECOGNISER_SIDE)
    weights, bias = known.recogniser_weights(truth.recogniser)
    embedding = weights @ known.pooled(picture) + bias
    if truth.converter:
        weights, bias = known.converter_weights(truth.converter)
        embedding = weights @ embedding + bias
    if truth.adapter:
        weights, bias = known.recogniser_weights(truth.adapter)
        other = weights @ known.pooled(picture) + bias
        embedding = embedding / np.linalg.norm(embedding) + other / np.linalg.norm(other)
    return known.latent(truth, embedding)


def shrunk_crop(view: View, to: Doubles, side: int) -> Doubles:
    """(3, side, side) RGB in [0, 1] of a photo aligned to five places, with means over what pixels cover."""
    rgb, landmarks = view
    forth = similarity(five_points(landmarks), to)
    times = 4
    finer = np.vstack([forth, [0, 0, 1]])
    finer = np.array([[times, 0, (times - 1) / 2], [0, times, (times - 1) / 2], [0, 0, 1]]) @ finer
    large = cv2.warpAffine(
        rgb.astype(np.float32) / 255,
        finer[:2],
        (side * times, side * times),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    means = large.reshape(side, times, side, times, 3).mean(axis=(1, 3))
    return np.asarray(means.transpose(2, 0, 1), np.float64)
