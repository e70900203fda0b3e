"""The recipe of a network by its family."""

from collections.abc import Callable
from typing import Final

from livefusion.inference.contract import Family, SwapContract
from livefusion.swap.neural import (
    blendswap,
    cscs,
    dfm,
    ghost,
    hififace,
    hyperswap,
    inswapper,
    simswap,
    uniface,
)
from livefusion.swap.neural.recipe import Recipe

_RECIPES: Final[dict[Family, Callable[[SwapContract], Recipe]]] = {
    Family.INSWAPPER: inswapper.recipe,
    Family.INSTYLESWAPPER: inswapper.recipe,
    Family.HYPERSWAP: hyperswap.recipe,
    Family.SIMSWAP: simswap.recipe,
    Family.GHOST: ghost.recipe,
    Family.HIFIFACE: hififace.recipe,
    Family.UNIFACE: uniface.recipe,
    Family.BLENDSWAP: blendswap.recipe,
    Family.CSCS: cscs.recipe,
    Family.DFM: dfm.recipe,
}


def recipe_for(contract: SwapContract) -> Recipe:
    """How a network of this contract is fed and read. ``ModelError`` if its file lacks what that takes."""
    return _RECIPES[contract.family](contract)
