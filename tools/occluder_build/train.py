"""Training on one core: examples are made as they are needed, and the state is kept to go on from."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import jax
import jax.numpy as jnp
import numpy as np
import optax

from .faces import FaceBank
from .jax_layers import Weights, fresh, logits
from .scene import CROP, compose

_BATCH = 4
# An example is seen about this often, mirrored, moved and in other colours each time.
_USES = 6
_POOL = 6000
_FIRST_POOL = 600
_AVERAGE = 0.999
# Pixels so near a rim count so much more: thin things are all rim.
_NEAR, _EDGE = 2, 2.0
# What is marked wrongly counts more than what is missed: thin things must not be drawn too wide.
_WRONG, _MISSED = 0.6, 0.4


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to train, in steps of a batch, and how fast."""

    steps: int
    rate: float = 1.6e-3
    warm_up: int = 100


class Pool:
    """Examples, the oldest replaced by new ones. One thread at a time."""

    def __init__(self, bank: FaceBank, seed: int) -> None:
        self._bank, self._rng = bank, np.random.default_rng(seed)
        self._images = np.zeros((_POOL, CROP, CROP, 3), np.uint8)
        self._planes = np.zeros((_POOL, CROP, CROP, 3), np.uint8)
        self._made = 0
        self.make(_FIRST_POOL)

    def make(self, count: int) -> None:
        """Compose new examples."""
        for _ in range(count):
            example = compose(self._bank, self._rng)
            at = self._made % _POOL
            self._images[at] = example.image
            self._planes[at] = np.dstack([example.cover, example.weight, rims(example.cover)])
            self._made += 1

    def batch(self, size: int) -> tuple[Any, Any, Any]:
        """Images (n, s, s, 3), cover and weight (n, s, s), all float32: in [0, 1], but weights near rims."""
        rows = self._rng.integers(0, min(self._made, _POOL), size)
        images = np.empty((size, CROP, CROP, 3), np.float32)
        planes = np.empty((size, CROP, CROP, 3), np.float32)
        for k, row in enumerate(rows.tolist()):
            images[k], planes[k] = self._varied(self._images[row], self._planes[row])
        return images, planes[..., 0], planes[..., 1] * (1 + _EDGE * planes[..., 2])

    def _varied(self, image: Any, planes: Any) -> tuple[Any, Any]:
        if self._rng.random() < 0.5:
            image, planes = image[:, ::-1], planes[:, ::-1]
        x, y = self._rng.integers(-5, 6, 2).tolist()
        move = np.array([[1, 0, x], [0, 1, y]], np.float32)
        image = cv2.warpAffine(
            np.ascontiguousarray(image),
            move,
            (CROP, CROP),
            flags=cv2.INTER_NEAREST,
            borderMode=cv2.BORDER_REPLICATE,
        )
        planes = cv2.warpAffine(np.ascontiguousarray(planes), move, (CROP, CROP), flags=cv2.INTER_NEAREST)
        gain = np.exp(self._rng.normal(0, 0.08) + self._rng.normal(0, 0.05, 3)).astype(np.float32) / 255
        return np.minimum(image * gain, 1), planes.astype(np.float32) / 255


def rims(cover: Any) -> Any:
    """(s, s) uint8, as ``cover`` is: by how much it changes within a few pixels."""
    near = np.ones((2 * _NEAR + 1,) * 2, np.uint8)
    return cv2.dilate(cover, near) - cv2.erode(cover, near)


def loss(weights: Weights, images: Any, cover: Any, weight: Any) -> Any:
    """Cross-entropy, and how far each crop that has something to find differs in what is marked."""
    found = logits(weights, images)
    entropy = jnp.maximum(found, 0) - found * cover + jnp.log1p(jnp.exp(-jnp.abs(found)))
    # The mean over a usual face, so that a crop of which little is asked counts little.
    plain = (entropy * weight).sum(axis=(1, 2)) / (0.45 * CROP * CROP)
    share = jax.nn.sigmoid(found)
    both, wrong, missed = (
        (part * weight).sum((1, 2)) for part in (share * cover, share * (1 - cover), (1 - share) * cover)
    )
    asked = jnp.minimum((cover * weight).sum((1, 2)) / 60, 1)
    tversky = asked * (1 - (both + 10) / (both + _WRONG * wrong + _MISSED * missed + 10))
    return (plain + 0.7 * tversky).mean()


def started(state: Path, optimiser: Any) -> dict[str, Any]:
    """Step, weights, their average and the optimiser's memory: as kept, if the network is still the same.

    Of another network, those weights are taken that fit.
    """
    weights = fresh(1, CROP)
    kept = pickle.loads(state.read_bytes()) if state.exists() else {"average": {}}
    old = kept["average"]
    if jax.tree.map(jnp.shape, old) == jax.tree.map(jnp.shape, weights):
        return dict(kept)
    fits = {name: value for name, value in old.items() if jnp.shape(weights.get(name)) == value.shape}
    weights = {name: jnp.asarray(fits.get(name, value)) for name, value in weights.items()}
    return {"step": 0, "weights": weights, "average": weights, "optimiser": optimiser.init(weights)}


def train(bank: FaceBank, plan: Plan, state: Path, say: Callable[[str], None]) -> Weights:
    """The averaged weights after ``plan``; goes on from ``state`` where it left off, and keeps it there."""
    rates = optax.warmup_cosine_decay_schedule(0, plan.rate, plan.warm_up, plan.steps, 1e-5)
    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(rates, weight_decay=1e-4),
    )
    kept = started(state, optimiser)

    @jax.jit
    def step(weights: Weights, average: Weights, momentum: Any, average_by: Any, *batch: Any) -> Any:
        value, slope = jax.value_and_grad(loss)(weights, *batch)
        change, momentum = optimiser.update(slope, momentum, weights)
        weights = optax.apply_updates(weights, change)
        average = jax.tree.map(lambda a, w: average_by * a + (1 - average_by) * w, average, weights)
        return weights, average, momentum, value

    pool = Pool(bank, 1000 + int(kept["step"]))
    values: list[float] = []
    begun = time.monotonic()
    for number in range(int(kept["step"]), plan.steps):
        if number * _BATCH % _USES < _BATCH:
            pool.make(1)
        by = min(_AVERAGE, (1 + number) / (10 + number))
        out = step(kept["weights"], kept["average"], kept["optimiser"], by, *pool.batch(_BATCH))
        kept["weights"], kept["average"], kept["optimiser"] = out[:3]
        values.append(float(out[3]))
        if number % 100 == 99:
            say(f"{number + 1} steps, {time.monotonic() - begun:.0f} s, loss {np.mean(values[-100:]):.4f}")
        if number % 500 == 499 or number + 1 == plan.steps:
            kept["step"] = number + 1
            state.write_bytes(pickle.dumps(jax.tree.map(np.asarray, kept)))
    return dict(kept["average"])
