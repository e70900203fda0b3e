"""Where the faces of a clip are, told by whoever drew it."""

import zipfile
from pathlib import Path
from typing import Protocol

import numpy as np

from livefusion.core.errors import InputError
from livefusion.core.face import Landmarks
from livefusion.core.settings import Settings


class Truth(Protocol):
    """The landmarks of each face by picture number."""

    def at(self, seq: int) -> dict[int, Landmarks]:
        """(478, 3) landmarks by person; empty where nothing is known."""
        ...


class TruthFile:
    """What ``testing.performer_clip.save_truth`` wrote. ``InputError`` if the file is none."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                self._landmarks = np.asarray(arrays["landmarks"], np.float32)
        except FileNotFoundError as error:
            raise InputError(f"{path} does not exist", "check the path") from error
        except (OSError, EOFError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} holds no truth", "make it with tools/render_performer.py") from error
        if self._landmarks.ndim != 4 or self._landmarks.shape[2:] != (478, 3):
            raise InputError(f"{path} holds no (n, p, 478, 3) landmarks", "make it anew")

    def at(self, seq: int) -> dict[int, Landmarks]:
        """The faces of that picture."""
        return dict(enumerate(self._landmarks[seq])) if seq < len(self._landmarks) else {}


class PerformerTruth:
    """Asks the performer herself."""

    def __init__(self, settings: Settings) -> None:
        from fractions import Fraction

        from livefusion.media.sources.performer_options import PerformerOptions
        from livefusion.media.sources.performer_scene import PerformerScene

        fps = None if settings.fps is None else Fraction(settings.fps).limit_denominator(1001)
        options = PerformerOptions.parse(settings.input, size=settings.picture_size, fps=fps)
        self._scene = PerformerScene(options)

    def at(self, seq: int) -> dict[int, Landmarks]:
        """The faces of that picture."""
        return {face.person: face.landmarks for face in self._scene.truth(seq)}


def truth_of(settings: Settings, path: Path | None) -> Truth | None:
    """The truth in a file, or the performer's own, or None."""
    if path is not None:
        return TruthFile(path)
    return PerformerTruth(settings) if settings.input.startswith("performer:") else None
