"""Property tests draw the same examples every time, and a busy machine does not fail them."""

from hypothesis import settings

settings.register_profile("livefusion", derandomize=True, deadline=None)
settings.load_profile("livefusion")
