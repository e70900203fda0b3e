"""The network's layers in JAX: pictures are (n, h, w, c) float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .architecture import network

Weights = dict[str, Any]
_RIM = ((0, 0), (1, 1), (1, 1), (0, 0))


class JaxLayers:
    """Computes with ``weights``; those missing are made by chance if a generator is given."""

    def __init__(self, weights: Weights, rng: np.random.Generator | None = None) -> None:
        self._weights = weights
        self._rng = rng

    def centred(self, x: Any) -> Any:
        """[0, 1] to [−2, 2]."""
        return (x - 0.5) * 4

    def mix(self, x: Any, name: str, channels: int) -> Any:
        """A 1 × 1 convolution with bias."""
        inputs = x.shape[-1]
        kernel, bias = self._get(name, (1, 1, inputs, channels), inputs)
        return product(x.reshape(-1, inputs), kernel[0, 0], bias).reshape(*x.shape[:-1], channels)

    def gather(self, x: Any, name: str, channels: int) -> Any:
        """A 2 × 2 convolution of stride 2 with bias."""
        n, h, w, c = x.shape
        kernel, bias = self._get(name, (2, 2, c, channels), 4 * c)
        cells = x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 4 * c)
        mixed = product(cells, kernel.reshape(4 * c, channels), bias)
        return mixed.reshape(n, h // 2, w // 2, channels)

    def around(self, x: Any, name: str, channels: int, step: int) -> Any:
        """A convolution of 3 × 3 cells with bias; a cell is ``step``² pixels, and gives one."""
        n, h, w, c = x.shape
        inputs = 9 * step * step * c
        kernel, bias = self._get(name, (3 * step, 3 * step, c, channels), inputs)
        cells = x.reshape(n, h // step, step, w // step, step, c).transpose(0, 1, 3, 2, 4, 5)
        cells = cells.reshape(n, h // step, w // step, step * step * c)
        rows = (
            kernel.reshape(3, step, 3, step, c, channels).transpose(0, 2, 1, 3, 4, 5).reshape(9, -1, channels)
        )
        if cells.shape[-1] <= channels:
            near = _shifted(jnp.pad(cells, _RIM), cells.shape)
            mixed = product(
                jnp.concatenate(near, axis=-1).reshape(-1, inputs), rows.reshape(inputs, -1), bias
            )
            return mixed.reshape(*cells.shape[:3], channels)
        # Few channels come out: it is quicker to mix first, and to add up the neighbours' shares.
        wide = rows.transpose(1, 0, 2).reshape(-1, 9 * channels)
        shares = product(
            cells.reshape(len(x) * cells.shape[1] * cells.shape[2], -1), wide, jnp.zeros(9 * channels)
        )
        padded = jnp.pad(shares.reshape(*cells.shape[:3], 9 * channels), _RIM)
        parts = _shifted(padded, cells.shape)
        return sum(part[..., k * channels : (k + 1) * channels] for k, part in enumerate(parts)) + bias

    def depthwise(self, x: Any, name: str) -> Any:
        """A 3 × 3 convolution of each channel, with bias."""
        kernel, bias = self._get(name, (3, 3, x.shape[-1]), 9)
        return look_round(x, kernel, bias)

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""
        return jnp.maximum(x, 0)

    def add(self, x: Any, y: Any) -> Any:
        """The sum; a side of 1 is repeated."""
        return x + y

    def mean(self, x: Any) -> Any:
        """The mean over the whole crop, as one cell."""
        return x.mean(axis=(1, 2), keepdims=True)

    def spread(self, x: Any) -> Any:
        """Four times fewer channels at twice the resolution."""
        n, h, w, c = x.shape
        return x.reshape(n, h, w, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5).reshape(n, 2 * h, 2 * w, c // 4)

    def sigmoid(self, x: Any) -> Any:
        """Nothing: training wants the logits."""
        return x

    def _get(self, name: str, shape: tuple[int, ...], inputs: int) -> tuple[Any, Any]:
        if self._rng is not None and f"{name}.kernel" not in self._weights:
            # The last layer of a residual block begins small: a deep net then trains without normalisation.
            gain = 0.3 if name.endswith(".out") or name.startswith("whole") else 1.0
            values = self._rng.normal(0, gain * np.sqrt(2 / inputs), shape).astype(np.float32)
            if name.endswith(".look"):
                values *= 0.5
                values[1, 1] += 1.0
            self._weights[f"{name}.kernel"] = jnp.asarray(values)
            self._weights[f"{name}.bias"] = jnp.zeros(shape[-1], jnp.float32)
        return self._weights[f"{name}.kernel"], self._weights[f"{name}.bias"]


def fresh(seed: int, side: int) -> Weights:
    """Weights by chance."""
    weights: Weights = {}
    network(JaxLayers(weights, np.random.default_rng(seed)), jnp.zeros((1, side, side, 3)))
    weights["head.bias"] = weights["head.bias"] - 2.0
    return weights


def logits(weights: Mapping[str, Any], image: Any) -> Any:
    """(n, s, s) for (n, s, s, 3) in [0, 1]."""
    return network(JaxLayers(dict(weights)), image)[..., 0]


@jax.custom_vjp
def product(rows: Any, kernel: Any, bias: Any) -> Any:
    """rows @ kernel + bias, with slopes that XLA computes quickly on a CPU."""
    return rows @ kernel + bias


def _product_forward(rows: Any, kernel: Any, bias: Any) -> tuple[Any, tuple[Any, Any]]:
    return rows @ kernel + bias, (rows, kernel)


def _product_backward(kept: tuple[Any, Any], slope: Any) -> tuple[Any, Any, Any]:
    rows, kernel = kept
    slope = jax.lax.optimization_barrier(slope)
    return slope @ kernel.T, rows.T @ slope, _columns(slope)


product.defvjp(_product_forward, _product_backward)


@jax.custom_vjp
def look_round(x: Any, kernel: Any, bias: Any) -> Any:
    """Depthwise 3 × 3 convolution as nine products: XLA's own is many times slower on a CPU."""
    return _look(x, kernel) + bias


def _look(x: Any, kernel: Any) -> Any:
    padded = jnp.pad(x, _RIM)
    return sum(part * kernel[k // 3, k % 3] for k, part in enumerate(_shifted(padded, x.shape)))


def _shifted(padded: Any, shape: tuple[int, ...]) -> list[Any]:
    height, width = shape[1:3]
    return [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]


def _look_forward(x: Any, kernel: Any, bias: Any) -> tuple[Any, tuple[Any, Any]]:
    # Without the barriers XLA computes what x is made of anew for each product.
    x = jax.lax.optimization_barrier(x)
    return _look(x, kernel) + bias, (x, kernel)


def _look_backward(kept: tuple[Any, Any], slope: Any) -> tuple[Any, Any, Any]:
    x, kernel = kept
    x, slope = jax.lax.optimization_barrier((x, slope))
    channels = x.shape[-1]
    padded = jnp.pad(x, _RIM)
    parts = [_columns((part * slope).reshape(-1, channels)) for part in _shifted(padded, x.shape)]
    back = _look(slope, kernel[::-1, ::-1])
    return back, jnp.stack(parts).reshape(kernel.shape), _columns(slope.reshape(-1, channels))


look_round.defvjp(_look_forward, _look_backward)


def _columns(rows: Any) -> Any:
    """Sum of each column: a matrix product is the quickest sum that XLA has on a CPU."""
    return (jnp.ones((1, len(rows)), rows.dtype) @ rows)[0]
