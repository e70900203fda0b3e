"""The plan in force, and who may change it."""

import threading
from dataclasses import replace
from typing import Final

from livefusion.core.errors import GraphError
from livefusion.core.face import Identity
from livefusion.core.settings import SwapSettings
from livefusion.pipeline.permit import Permit
from livefusion.pipeline.render import RenderPlan
from livefusion.pipeline.slate import SlateShelf
from livefusion.provenance.badge import SLATE_TEXT
from livefusion.runtime.panic import PanicSwitch

WITHHELD: Final = "withheld"
"""The cause for which the outputs show the slate themselves, beside a panic."""


class PlanHolder:
    """Holds the plan that the render stage reads once a frame; each change puts another one in its place.

    What withholds pictures also engages the panic switch, so that the slate is out within a frame while a
    stage hangs: outputs would go on repeating the last picture. A run that waits for its stages repeats
    none, and what is withheld by the panic switch is lost to its file: there every picture becomes a slate
    in the render stage alone. Thread-safe.
    """

    def __init__(self, panic: PanicSwitch, slates: SlateShelf) -> None:
        self._panic = panic
        self._slates = slates
        self._lock = threading.Lock()
        self._plan: RenderPlan | None = None
        self._at_once = True

    @property
    def known(self) -> RenderPlan | None:
        """The plan, None before there is one."""
        return self._plan

    def current(self) -> RenderPlan:
        """The plan; ``GraphError`` before there is one."""
        if self._plan is None:
            raise GraphError("there is no plan before the start")
        return self._plan

    def begin(self, plan: RenderPlan, *, at_once: bool = True) -> None:
        """Have a plan; ``at_once`` says that the outputs show the slate themselves."""
        with self._lock:
            self._at_once = at_once
            self._slates.mark, self._slates.patient = plan.mark, not at_once
            self._put(plan)

    def switch(self, identity: Identity, swap: SwapSettings, permit: Permit) -> None:
        """Put another face on."""
        with self._lock:
            self._put(replace(self.current(), identity=identity, swap=swap, permit=permit))

    def allow(self, identity: Identity, permit: Permit) -> None:
        """Put another permit into force, if its identity is still the one in use."""
        with self._lock:
            if self._plan is not None and self._plan.identity is identity:
                self._put(replace(self._plan, permit=permit))

    def gate(self, text: str) -> None:
        """Withhold all pictures with that reason, or with an empty one no more."""
        with self._lock:
            if self._plan is not None:
                self._put(replace(self._plan, gate=text))

    def _put(self, plan: RenderPlan) -> None:
        self._plan = plan
        reason = plan.permit.refusal or plan.gate
        self._slates.text = reason or SLATE_TEXT
        if reason and self._at_once:
            self._panic.engage(WITHHELD)
        elif self._panic.engaged(WITHHELD):
            self._panic.lift(WITHHELD)
