"""Faces: found, followed, steadied, told apart; ``analyse`` is the stage, the rest are its parts."""


def warm_up() -> None:
    """Import what faces in motion need: filterpy and scipy take a second. Meant for a thread of its own."""
    from livefusion.faces.kalman import LIBRARY

    LIBRARY.load()
    import scipy.optimize  # noqa: F401
