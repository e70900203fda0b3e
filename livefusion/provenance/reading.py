"""Reading the watermark's payload: which of all that a key can have written fits best, and is it sure?"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import chi2

from livefusion.provenance.chips import BITS, Grid, payload_carriers
from livefusion.provenance.watermark import SESSIONS, Payload, WatermarkKey

FALSE_ALARM = 1e-6
"""Chance that a video without the mark is said to have it, and that a key reads what another one wrote."""
MISREAD = 1e-4
"""Largest chance that the payload is another one than is read; else none is read."""

Scores = npt.NDArray[np.float64]


def bit_scores(grid: Grid, stretches: Iterable[tuple[int, npt.NDArray[np.float32]]], secret: bytes) -> Scores:
    """(32,) z of each bit over stretches of (epoch, (cells,) sums of the relief); above 0 it reads as 1."""
    totals, power = np.zeros(BITS), np.zeros(BITS)
    for epoch, sums in stretches:
        carriers = payload_carriers(grid, epoch, secret)
        values = sums[carriers.cells].astype(np.float64)
        totals += np.bincount(carriers.bits, values * carriers.signs, BITS)
        power += np.bincount(carriers.bits, values**2, BITS)
    return np.asarray(totals / np.sqrt(np.maximum(power, 1e-9)))


def read_by(keys: Sequence[WatermarkKey], scores_by: Callable[[bytes], Scores]) -> Payload | None:
    """What the first key reads whose bits stand out of the noise; ``scores_by`` gives the z for a secret."""
    limit = chi2.isf(FALSE_ALARM / max(1, len(keys)), BITS)
    for key in keys:
        scores = scores_by(key.secret)
        if float(np.sum(scores**2)) > limit:
            return likeliest(scores, key.key_id)
    return None


def likeliest(scores: Scores, key_id: int) -> Payload | None:
    """The payload of a key that fits (32,) z best; None if others fit nearly as well (``MISREAD``).

    The z of a bit is ±m and noise of variance 1, so by Bayes a word w has the weight exp(m w·z); m is the
    mean by which the best word's bits stand out. The checking bits keep all words four bits apart: words are
    told where single bits can not be.
    """
    fits = _words(key_id) @ scores.astype(np.float32)
    best = int(np.argmax(fits))
    strength = float(fits[best]) / BITS
    evidence = strength * (fits - fits[best]).astype(np.float64)
    evidence[best] = -np.inf
    return Payload(best, key_id) if logsumexp(evidence) < np.log(MISREAD) else None


@lru_cache(maxsize=4)
def _words(key_id: int) -> npt.NDArray[np.float32]:
    """(65536, 32) all payloads of a key as −1 and 1. The CRC is linear: no word needs its own."""
    zero = Payload(0, key_id).bits
    sessions = np.arange(SESSIONS)
    words = np.tile(zero, (SESSIONS, 1))
    for bit in range(SESSIONS.bit_length() - 1):
        changed = Payload(1 << bit, key_id).bits ^ zero
        words[(sessions >> bit & 1).astype(bool)] ^= changed
    return words.astype(np.float32) * 2 - 1
