"""Where LiveFusion keeps what belongs to the user."""

import os
from pathlib import Path

HOME_VARIABLE = "LIVEFUSION_HOME"


def user_home() -> Path:
    """The user's data folder; ``LIVEFUSION_HOME`` overrides the system's place."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen)
    import platformdirs

    return platformdirs.user_data_path("livefusion", appauthor=False)
