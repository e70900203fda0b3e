"""LiveFusion: another face in a live picture, before the next frame arrives."""

__version__ = "0.1.0"
