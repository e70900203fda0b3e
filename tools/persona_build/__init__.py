"""Faces that belong to nobody, composed of several licensed photos."""
