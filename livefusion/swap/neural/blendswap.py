"""BlendSwap: it sees the source's picture in the crop of a recogniser, and the performer in a wider one."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import Recipe


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""
    return Recipe(contract.family, contract.size, "ffhq_512", picture="arcface_112_v2")
