"""CSCS: two recognisers look at the source in the crop of the network, and it takes the sum of both."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import HALF, Floats, Recipe, Route


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""

    def latent(embedding: Floats) -> Floats:
        return embedding  # a sum of two of length 1, at the length that it has

    return Recipe(
        contract.family,
        contract.size,
        "ffhq_512",
        mean=HALF,
        deviation=HALF,
        gain=0.5,
        offset=0.5,
        routes=(Route("cscs_arcface", beside="cscs_adapter"),),
        latent=latent,
    )
