"""The types that everything shares; imports nothing of ours."""
