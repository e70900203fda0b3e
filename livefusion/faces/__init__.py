"""Faces: found, followed, steadied, told apart; ``analyse`` is the stage, the rest are its parts."""


def warm_up() -> None:
    """Import what the first face needs; filterpy and scipy take 1.3 s: do it while the source opens."""
    import filterpy.kalman  # noqa: F401
    import scipy.optimize  # noqa: F401
