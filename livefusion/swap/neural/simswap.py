"""SimSwap at 256 pixels and the unofficial one at 512: the small one takes ImageNet's normalisation."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import (
    IMAGENET_DEVIATION,
    IMAGENET_MEAN,
    ONE,
    PLAIN,
    Recipe,
    Route,
    unit,
)

SMALL = 256


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed. What it gives is in [0, 1] at both sizes: only what it takes is normalised."""
    small = contract.size == SMALL
    return Recipe(
        contract.family,
        contract.size,
        "arcface_112_v1",
        mean=IMAGENET_MEAN if small else PLAIN,
        deviation=IMAGENET_DEVIATION if small else ONE,
        routes=(Route("simswap_arcface"), Route("arcface", "crossface_simswap")),
        latent=unit,
    )
