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
_FIRST_POOL = 200
_AVERAGE = 0.999
_EDGE = 2.0


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
        self._planes = np.zeros((_POOL, CROP, CROP, 2), np.uint8)
        self._made = 0
        self.make(_FIRST_POOL)

    def make(self, count: int) -> None:
        """Compose new examples."""
        for _ in range(count):
            example = compose(self._bank, self._rng)
            at = self._made % _POOL
            self._images[at] = example.image
            self._planes[at] = np.dstack([example.cover, example.weight])
            self._made += 1

    def batch(self, size: int) -> tuple[Any, Any, Any]:
        """Images (n, s, s, 3), cover and weight (n, s, s), all float32 in [0, 1]."""
        rows = self._rng.integers(0, min(self._made, _POOL), size)
        images = np.empty((size, CROP, CROP, 3), np.float32)
        planes = np.empty((size, CROP, CROP, 2), np.float32)
        for k, row in enumerate(rows.tolist()):
            images[k], planes[k] = self._varied(self._images[row], self._planes[row])
        return images, planes[..., 0], planes[..., 1]

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


def loss(weights: Weights, images: Any, cover: Any, weight: Any) -> Any:
    """Cross-entropy, stronger at edges, and the dice of each crop that has something to find."""
    found = logits(weights, images)
    entropy = jnp.maximum(found, 0) - found * cover + jnp.log1p(jnp.exp(-jnp.abs(found)))
    across = jnp.abs(jnp.diff(cover, axis=1, append=cover[:, -1:]))
    down = jnp.abs(jnp.diff(cover, axis=2, append=cover[:, :, -1:]))
    weight = weight * (1 + _EDGE * jnp.minimum(across + down, 1))
    # The mean over a usual face, so that a crop of which little is asked counts little.
    plain = (entropy * weight).sum(axis=(1, 2)) / (0.45 * CROP * CROP)
    share = jax.nn.sigmoid(found)
    both, either = (share * cover * weight).sum((1, 2)), ((share + cover) * weight).sum((1, 2))
    asked = jnp.minimum((cover * weight).sum((1, 2)) / 60, 1)
    dice = asked * (1 - (2 * both + 20) / (either + 20))
    return (plain + 0.7 * dice).mean()


def train(bank: FaceBank, plan: Plan, state: Path, say: Callable[[str], None]) -> Weights:
    """The averaged weights after ``plan``; goes on from ``state`` where it left off, and keeps it there."""
    rates = optax.warmup_cosine_decay_schedule(0, plan.rate, plan.warm_up, plan.steps, 1e-5)
    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(rates, weight_decay=1e-4),
    )
    weights = fresh(1, CROP)
    kept: dict[str, Any] = {
        "step": 0,
        "weights": weights,
        "average": weights,
        "optimiser": optimiser.init(weights),
    }
    if state.exists():
        kept = pickle.loads(state.read_bytes())

    @jax.jit
    def step(weights: Weights, average: Weights, momentum: Any, average_by: Any, *batch: Any) -> Any:
        value, slope = jax.value_and_grad(loss)(weights, *batch)
        change, momentum = optimiser.update(slope, momentum, weights)
        weights = optax.apply_updates(weights, change)
        average = jax.tree.map(lambda a, w: average_by * a + (1 - average_by) * w, average, weights)
        return weights, average, momentum, value

    pool = Pool(bank, 1000 + int(kept["step"]))
    values: list[float] = []
    started = time.monotonic()
    for number in range(int(kept["step"]), plan.steps):
        if number * _BATCH % _USES < _BATCH:
            pool.make(1)
        by = min(_AVERAGE, (1 + number) / (10 + number))
        out = step(kept["weights"], kept["average"], kept["optimiser"], by, *pool.batch(_BATCH))
        kept["weights"], kept["average"], kept["optimiser"] = out[:3]
        values.append(float(out[3]))
        if number % 100 == 99:
            say(f"{number + 1} steps, {time.monotonic() - started:.0f} s, loss {np.mean(values[-100:]):.4f}")
        if number % 500 == 499 or number + 1 == plan.steps:
            kept["step"] = number + 1
            state.write_bytes(pickle.dumps(jax.tree.map(np.asarray, kept)))
    return dict(kept["average"])
