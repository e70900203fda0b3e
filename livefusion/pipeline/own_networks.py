"""Networks of the user's beside the engine: which files the settings name, and what is made of them."""

from collections.abc import Callable
from functools import partial

from livefusion.blend.face_mask import FaceMasks, mask_contract
from livefusion.core.settings import Settings
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Device
from livefusion.inference.catalog import ModelFile, find_model
from livefusion.pipeline.render import ENHANCE, OCCLUDER, RUNGS
from livefusion.swap.neural.engine import load_session
from livefusion.swap.neural.enhance import PatchRestorer
from livefusion.swap.neural.enhance_standby import Enhancer
from livefusion.swap.neural.restore import restore_contract


class OwnNetworks:
    """What ``--enhance`` and ``--occluder`` name; each file is looked at once."""

    def __init__(self, settings: Settings | None = None, clock: Clock | None = None) -> None:
        chosen = settings or Settings()
        self._clock = clock or SystemClock()
        self._enhance = _Chosen(chosen.enhance, restore_contract)
        self._occluder = _Chosen(chosen.occluder, mask_contract)

    @property
    def rungs(self) -> tuple[str, ...]:
        """What is left out when frames come late, the first to go first."""
        first = ((ENHANCE, self._enhance), (OCCLUDER, self._occluder))
        return (*(rung for rung, chosen in first if chosen.name), *RUNGS)

    def check(self) -> None:
        """Raise what is wrong with a file, before anything is opened."""
        for chosen in (self._enhance, self._occluder):
            if chosen.name:
                chosen.find()

    def make_enhancer(self, device: Device, budget_s: float | None) -> Enhancer | None:
        """What restores new faces, None if nothing shall; ``budget_s`` is the time of a live picture."""
        if not self._enhance.name:
            return None
        load = partial(PatchRestorer, device, self._enhance.find(), load_session)
        return Enhancer(load, budget_s=budget_s, clock=self._clock)

    def make_masks(self, device: Device, faces: int) -> FaceMasks | None:
        """What sees more in front of so many faces a frame, None if nothing shall."""
        if not self._occluder.name:
            return None
        model = self._occluder.find()
        return FaceMasks(device, mask_contract(model), partial(load_session, device, model), faces)


class _Chosen:
    """A setting that may name a network. ``check`` raises what is wrong with the file."""

    def __init__(self, name: str, check: Callable[[ModelFile], object]) -> None:
        self.name = name
        self._check = check
        self._model: ModelFile | None = None

    def find(self) -> ModelFile:
        """The file. ``ModelError`` if it is missing, must not be used or is for something else."""
        if self._model is None:
            model = find_model(self.name)
            self._check(model)
            self._model = model
        return self._model
