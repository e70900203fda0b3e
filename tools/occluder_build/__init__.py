"""Trains the network that finds what covers a face, on faces that it covers itself."""
