"""`livefusion bench`: every promised figure, measured here and printed as one table."""
