"""HifiFace, the unofficial export: its own crop, and a converted embedding at unit length."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import HALF, Recipe, Route, unit


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""
    return Recipe(
        contract.family,
        contract.size,
        "mtcnn_512",
        mean=HALF,
        deviation=HALF,
        gain=0.5,
        offset=0.5,
        routes=(Route("arcface", "crossface_hififace"),),
        latent=unit,
    )
