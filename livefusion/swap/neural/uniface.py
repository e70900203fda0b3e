"""UniFace: it sees the source's picture itself, in the crop that it sees the performer in."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import HALF, Recipe


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""
    return Recipe(
        contract.family,
        contract.size,
        "ffhq_512",
        mean=HALF,
        deviation=HALF,
        gain=0.5,
        offset=0.5,
        picture="ffhq_512",
        picture_mean=HALF,
        picture_deviation=HALF,
    )
