"""Faces: found, followed, steadied, told apart; ``analyse`` is the stage, the rest are its parts."""
