"""The steps of `tools/build_performer.py`: cut out, and make a second person with a disguise."""
