"""DeepFaceLive's DFM: one face, baked in; channels last, blue first; it gives masks along with the face."""

from livefusion.inference.contract import SwapContract
from livefusion.swap.neural.recipe import Recipe


def recipe(contract: SwapContract) -> Recipe:
    """How it is fed."""
    return Recipe(contract.family, contract.size, "dfl_whole_face", layout="hwc", order="bgr")
