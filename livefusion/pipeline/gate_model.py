"""A classifier that the user brings, as the content gate asks it.

Contract: an ONNX file of one part. Input: one float32 tensor 1×3×N×N, RGB in [0, 1], the whole picture
stretched to N×N. Output: the first one; its last value is the score of what must not be shown, and more is
worse. Other scales belong into the file.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError, ModelError
from livefusion.core.settings import GateSettings
from livefusion.inference.registry import ModelEntry
from livefusion.inference.session import Session
from livefusion.inference.vet import vet
from livefusion.provenance.audit_record import digest_of

Screen: TypeAlias = Callable[[str, npt.NDArray[np.uint8]], None]
"""Looks at each source photo, (h, w, 3) RGB, by its name; raises ``IdentityError`` to refuse it."""
_REMEDY = "it takes one float32 picture 1×3×N×N and gives scores"


class GateModel:
    """Loads the classifier on the CPU, beside whatever the run computes on. For one thread at a time.

    ``ModelError`` if the file must not be loaded, or is none such classifier.
    """

    def __init__(self, path: Path) -> None:
        graph = vet(path)
        content = path.read_bytes()
        self.name = path.name
        shape = graph.inputs[0].shape if len(graph.inputs) == 1 else ()
        side = shape[3] if len(shape) == 4 and shape[1] == 3 and shape[2] == shape[3] else 0
        if not isinstance(side, int) or not side or graph.inputs[0].dtype != "float32" or not graph.outputs:
            raise ModelError(f"{path.name} is no classifier for the content gate", _REMEDY)
        self._side = side
        self._input, self._output = graph.inputs[0].name, graph.outputs[0].name
        entry = ModelEntry(
            path.stem,
            "gate",
            path,
            digest_of(content),
            len(content),
            "unknown",
            str(path),
            graph.inputs,
            graph.outputs,
        )
        self._session = Session(entry)
        self._tensor = np.zeros((1, 3, side, side), np.float32)

    def score(self, rgb: npt.NDArray[np.uint8]) -> float:
        """The score of an (h, w, 3) picture. ``ModelError`` if the network gives no number."""
        small = cv2.resize(rgb, (self._side, self._side), interpolation=cv2.INTER_AREA)
        self._tensor[0] = small.transpose(2, 0, 1) / np.float32(255)
        outputs: Any = self._session.run({self._input: self._tensor})[self._output]
        values = np.asarray(outputs).reshape(-1)
        if not values.size or not np.isfinite(values[-1]):
            raise ModelError(f"{self.name} gives no score", _REMEDY)
        return float(values[-1])


def photo_screen(settings: GateSettings) -> Screen:
    """What looks at each source photo: ``IdentityError`` for a hit, ``ModelError`` if the classifier fails.

    The classifier is loaded with the first photo; without one every photo passes.
    """
    loaded: list[GateModel] = []

    def screen(name: str, rgb: npt.NDArray[np.uint8]) -> None:
        if settings.gate_model is None:
            return
        if not loaded:
            loaded.append(GateModel(settings.gate_model))
        score = loaded[0].score(rgb)
        if score >= settings.gate_threshold:
            raise IdentityError(
                f"the content gate refuses {name} ({loaded[0].name} gave {score:.3f})", "use another photo"
            )

    return screen


def no_screen(name: str, rgb: npt.NDArray[np.uint8]) -> None:
    """Every photo passes."""
