"""Which engine draws the faces: the one that ships, or a network that the user brings."""

from functools import partial
from pathlib import Path
from typing import Final

from livefusion.core.errors import SettingsError
from livefusion.devices.device import Device
from livefusion.inference.catalog import SUFFIXES, ModelFile, UserModels, find_model
from livefusion.inference.known import known_models
from livefusion.swap.engine import SwapEngine
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.engine import NeuralEngine, require_helpers
from livefusion.swap.neural.standby import StandbyEngine

ENGINES: Final = ("auto", "mesh")


class EngineChoice:
    """What ``--engine`` means. ``SettingsError`` if it names nothing that could be an engine.

    ``family`` is that of a network whose file fits several, ``boost`` how much finer its faces are made.

    The model is looked at once, when an engine is made first, and made anew for another device.
    """

    def __init__(self, engine: str, family: str = "", boost: int = 1) -> None:
        self._engine = engine
        self._family = family
        self._boost = boost
        self._model: ModelFile | None = None
        if engine not in ENGINES and not _could_be_a_model(engine):
            raise SettingsError(
                f"there is no engine {engine!r}",
                "use auto, mesh, a file such as network.onnx, or a name of `livefusion models list`",
            )

    @property
    def is_neural(self) -> bool:
        """Whether a network is to draw."""
        return self._engine not in ENGINES

    def find(self) -> ModelFile:
        """The network's file. ``ModelError`` if it is missing or must not be used."""
        if self._model is None:
            self._model = find_model(self._engine, family=self._family)
        return self._model

    def check(self) -> None:
        """See that what the network needs is here, before anything is opened: ``ModelError`` if not."""
        if self.is_neural:
            require_helpers(self.find())

    def make(self, device: Device, *, live: bool = False, faces: int = 1) -> SwapEngine:
        """The engine, on a device, for so many ``faces`` a frame.

        ``live``, a network is loaded while the mesh engine is at work.
        """
        mesh = MeshEngine(device)
        if not self.is_neural:
            return mesh
        model = self.find()
        load = partial(NeuralEngine, device, model, mesh=mesh, boost=self._boost, faces=faces, live=live)
        return StandbyEngine(mesh, load, live=live, wanted=model.name)


def _could_be_a_model(engine: str) -> bool:
    path = Path(engine)
    if path.suffix.lower() in SUFFIXES or path.is_file():
        return True
    return engine in UserModels().names() or engine in known_models()
