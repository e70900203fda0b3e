"""Colouring the new face like the scene and blending it in."""
