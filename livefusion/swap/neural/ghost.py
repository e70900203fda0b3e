"""Ghost 1, 2 and 3: the embedding is taken at the length that it has."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import HALF, Floats, Recipe, Route


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""

    def latent(embedding: Floats) -> Floats:
        return embedding

    return Recipe(
        contract.family,
        contract.size,
        "arcface_112_v1",
        mean=HALF,
        deviation=HALF,
        gain=0.5,
        offset=0.5,
        routes=(Route("ghost_arcface"), Route("arcface", "crossface_ghost")),
        latent=latent,
    )
