"""The fast bodies of the operators for the CPU."""
