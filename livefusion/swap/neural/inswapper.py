"""InsightFace's inswapper, and InStyleSwapper A, B and C: identity by a matrix in their own file."""

from livefusion.core.errors import ModelError
from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import Floats, Recipe, Route, unit


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed. ``ModelError`` if its matrix is missing."""
    emap = contract.emap
    if emap is None:
        raise ModelError(f"the {contract.family} file has lost its matrix emap", "get the original file")

    def latent(embedding: Floats) -> Floats:
        # Unit length before and after, as the reference implementation has it: without the second, the
        # identity comes out weaker or stronger with each person.
        return unit(unit(embedding) @ emap)

    return Recipe(contract.family, contract.size, "arcface_128", routes=(Route("arcface"),), latent=latent)
