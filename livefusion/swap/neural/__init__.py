"""Swap networks that users bring: one file a family, and the engine that runs any of them."""
