"""The function that stand-ins compute, in NumPy and 64 bits."""

from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.testing.standins.truth import LATENT, Truth

Doubles = npt.NDArray[np.float64]

# No two channels are mixed alike, so none can be exchanged unseen.
MIX: Final = np.array([[0.30, 0.05, 0.02], [0.01, 0.20, 0.12], [0.10, 0.03, 0.36]])
_PATTERN_LEAST, _PATTERN_SPAN = 0.18, 0.30
TINT: Final = 0.16
"""How far an identity changes a channel."""
POOLS: Final = 8
"""A recogniser sees so many fields a side."""
RAW_LENGTH: Final = 8.0
"""About the length of embeddings before they are normalised."""


def pattern(size: int) -> Doubles:
    """(3, size, size) that differs from place to place, in each channel otherwise, and is nowhere steep."""
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size
    waves = (
        0.5 + 0.5 * np.sin(2.1 * np.pi * x + 0.4) * np.cos(1.3 * np.pi * y),
        0.25 + 0.75 * np.abs(x - 0.35) + 0.1 * y,
        0.2 + 0.5 * y + 0.3 * np.cos(1.7 * np.pi * (x + y)) ** 2,
    )
    return np.asarray(_PATTERN_LEAST + _PATTERN_SPAN * np.clip(np.stack(waves), 0, 1), np.float64)


def latent_weights() -> Doubles:
    """(3, 512): what each channel's tint is of a latent of length 1."""
    return np.random.default_rng(11).normal(0, 1, (3, LATENT)) * 1.4


def pool_weights() -> Doubles:
    """(3, 192): the same of the pooled picture of an identity."""
    return np.random.default_rng(12).normal(0, 0.35, (3, 3 * POOLS * POOLS))


def emap() -> Doubles:
    """(512, 512), as an inswapper's file holds it: neither orthogonal nor of length 1."""
    return np.random.default_rng(13).normal(0, 1.7 / np.sqrt(LATENT), (LATENT, LATENT))


def recogniser_weights(family: str) -> tuple[Doubles, Doubles]:
    """(512, 192) and (512,) of the stand-in for a recogniser."""
    rng = np.random.default_rng([14, *family.encode()])
    shape = (LATENT, 3 * POOLS * POOLS)
    return rng.normal(0, 1, shape) * (RAW_LENGTH / LATENT), rng.normal(0, 0.1, LATENT)


def converter_weights(family: str) -> tuple[Doubles, Doubles]:
    """(512, 512) and (512,) of the stand-in for a converter."""
    rng = np.random.default_rng([15, *family.encode()])
    return rng.normal(0, 1, (LATENT, LATENT)) / np.sqrt(LATENT), rng.normal(0, 0.02, LATENT)


def pooled(picture: Doubles) -> Doubles:
    """(192,) means of fields of a (3, side, side) picture; what is left over at the far edges is not seen."""
    side = picture.shape[1] // POOLS
    seen = picture[:, : side * POOLS, : side * POOLS]
    fields = seen.reshape(3, POOLS, side, POOLS, side).mean(axis=(2, 4))
    return np.asarray(fields.reshape(-1), np.float64)


def latent(truth: Truth, embedding: Doubles) -> Doubles:
    """What a network takes of an embedding (512,)."""
    if truth.steps in {"raw", "sum"}:
        return embedding
    direction = embedding / np.linalg.norm(embedding)
    if truth.steps == "unit":
        return direction
    mapped = direction @ emap()
    return mapped / np.linalg.norm(mapped)


def tint(truth: Truth, told: Doubles | None, morph: float = 1.0) -> Doubles:
    """(3,) what an identity adds to R, G and B: a latent (512,), a picture (3, side, side), or nothing."""
    if told is None:
        return TINT * np.tanh(np.array([1.1, -0.7, 0.4]) * morph)
    if truth.identity == "picture":
        return TINT * np.tanh(pool_weights() @ (pooled(told) - 0.5))
    length = RAW_LENGTH if truth.steps == "raw" else 1.0
    return TINT * np.tanh(latent_weights() @ told / length)


def new_face(truth: Truth, rgb: Doubles, added: Doubles) -> Doubles:
    """(3, size, size) RGB in [0, 1] of a crop (3, size, size) in [0, 1] and the tint (3,)."""
    mixed = np.tensordot(MIX, rgb, axes=(1, 0))
    return mixed + pattern(truth.size) + added[:, None, None]
