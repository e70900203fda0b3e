"""The definition of each operator, in plain NumPy."""
