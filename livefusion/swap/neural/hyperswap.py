"""HyperSwap 1a, 1b and 1c: the embedding itself, at unit length."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import HALF, Recipe, Route, unit


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""
    return Recipe(
        contract.family,
        contract.size,
        "arcface_128",
        mean=HALF,
        deviation=HALF,
        gain=0.5,
        offset=0.5,
        routes=(Route("arcface"),),
        latent=unit,
    )
