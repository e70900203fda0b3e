"""Making the new face."""
