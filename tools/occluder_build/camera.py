"""What a camera, a codec and a small picture do to a crop."""

from __future__ import annotations

import cv2
import numpy as np

from .layer import Bytes, Points


def expose(image: Bytes, rng: np.random.Generator) -> Bytes:
    """The (h, w, 3) crop under another light: gamma, gain, white balance, saturation, contrast."""
    out = image.astype(np.float32) / 255
    out = out ** np.float32(np.exp(rng.normal(0, 0.28)))
    out = out * np.exp(rng.normal(0, 0.15) + rng.normal(0, 0.08, 3)).astype(np.float32)
    if rng.random() < 0.12:
        out = out * rng.uniform(0.45, 1.2, 3).astype(np.float32)
    grey = out @ np.array([0.3, 0.59, 0.11], np.float32)
    saturation = 0.0 if rng.random() < 0.05 else rng.uniform(0.5, 1.35)
    out = grey[..., None] + (out - grey[..., None]) * np.float32(saturation)
    contrast = np.float32(rng.uniform(0.75, 1.2))
    return to_bytes((out - 0.5) * contrast + np.float32(0.5 + rng.normal(0, 0.03)))


def degrade(image: Bytes, rng: np.random.Generator, sharpest: float) -> Bytes:
    """The (s, s, 3) crop as seen in a picture where it is at most ``sharpest`` pixels wide."""
    side = image.shape[0]
    seen = min(sharpest, side * float(rng.uniform(0.7, 2.0))) if rng.random() < 0.6 else sharpest
    if rng.random() < 0.25:
        seen = float(rng.uniform(40, side))
    if seen < side:
        small = cv2.resize(image, (max(36, round(seen)),) * 2, interpolation=cv2.INTER_AREA)
        ways = (cv2.INTER_LINEAR, cv2.INTER_CUBIC)
        image = _bytes(cv2.resize(small, (side, side), interpolation=ways[int(rng.random() < 0.5)]))
    if rng.random() < 0.2:
        image = _bytes(cv2.GaussianBlur(image, (0, 0), float(rng.uniform(0.3, 1.2))))
    if rng.random() < 0.08:
        image = motion_blur(image, rng, 9)
    if rng.random() < 0.15:
        soft = cv2.GaussianBlur(image, (0, 0), 1.0)
        image = _bytes(cv2.addWeighted(image, 1.6, soft, -0.6, 0))
    if rng.random() < 0.4:
        noise = rng.normal(0, rng.uniform(1, 9), image.shape).astype(np.float32)
        image = to_bytes((image + noise) / 255)
    if rng.random() < 0.5:
        coded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(25, 95))])[1]
        image = _bytes(cv2.imdecode(coded, cv2.IMREAD_COLOR))
    return image


def motion_blur(image: Bytes, rng: np.random.Generator, longest: int) -> Bytes:
    """A picture or plane smeared along a line."""
    size = int(rng.integers(3, longest + 1)) | 1
    kernel = np.zeros((size, size), np.float32)
    angle, middle = rng.uniform(0, np.pi), size // 2
    step = middle * np.array([np.cos(angle), np.sin(angle)])
    ends = np.rint(np.array([middle - step, middle + step])).astype(int).tolist()
    cv2.line(kernel, ends[0], ends[1], 1.0, 1)
    return _bytes(cv2.filter2D(image, -1, kernel / kernel.sum()))


def to_bytes(image: Points) -> Bytes:
    """[0, 1] to 0..255."""
    return _bytes(np.clip(image * 255 + 0.5, 0, 255))


def _bytes(image: object) -> Bytes:
    return np.asarray(image).astype(np.uint8)
