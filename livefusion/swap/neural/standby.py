"""The mesh engine, until a network is ready to take over: it is loaded while the picture runs."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from livefusion.core.errors import GraphError, LiveFusionError
from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Stream
from livefusion.devices.select import Fallback, fallbacks_of
from livefusion.inference.session import Session
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.swap.wardrobe import MOST_IDENTITIES

_log = logging.getLogger(__name__)


class StandbyEngine:
    """Draws with the mesh engine, and with a network once that can do it (``swap.engine.SwapEngine``).

    ``load`` makes the network's engine, which must use ``mesh`` too; it is called by ``warm_up``, on a thread
    of its own if the picture is ``live``. The network takes over between two frames, when it has run once and
    knows every identity that was prepared. If it cannot, the mesh engine goes on and ``failure`` says why;
    not ``live``, ``warm_up`` raises it. ``wanted`` is what reports call the network.
    """

    def __init__(
        self, mesh: MeshEngine, load: Callable[[], NeuralEngine], *, live: bool, wanted: str = "the network"
    ) -> None:
        self._mesh = mesh
        self._wanted = wanted
        self._load = load
        self._live = live
        self._network: NeuralEngine | None = None
        self._at_work: MeshEngine | NeuralEngine = mesh
        self._known: OrderedDict[int, Identity] = OrderedDict()
        self._lock = threading.Lock()
        self._loader: threading.Thread | None = None
        self._seq: tuple[str, int, int] | None = None
        self.failure: LiveFusionError | None = None
        """Why the network was not taken into use."""

    @property
    def name(self) -> str:
        """That of the engine at work."""
        return self._at_work.name

    @property
    def networks(self) -> tuple[Session, ...]:
        """Those of the engine at work."""
        return self._at_work.networks

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Why the mesh engine draws in place of the network, if it does so for good."""
        if self.failure is not None:
            return (Fallback(self._wanted, self._mesh.name, self.failure.problem),)
        return fallbacks_of(self._network)

    def prepare(self, identity: Identity) -> None:
        """Get an identity ready in the mesh engine, and in the network as soon as there is one."""
        self._mesh.prepare(identity)
        with self._lock:
            self._known[id(identity)] = identity
            self._known.move_to_end(id(identity))
            while len(self._known) > MOST_IDENTITIES:
                self._known.popitem(last=False)
            network = self._network
        if network is not None:
            network.prepare(identity)

    def warm_up(self) -> None:
        """Warm up the mesh engine, and begin to load the network; not live, wait for it."""
        self._mesh.warm_up()
        if self._network is not None:
            return
        if not self._live:
            self._bring_in()
        elif self._loader is None or not self._loader.is_alive():
            self._loader = threading.Thread(target=self._bring_in_beside, name="load-network", daemon=True)
            self._loader.start()

    def look(self, frame: Frame, tracks: Sequence[FaceTrack]) -> None:
        """Have the engine at work take note of the faces of a frame."""
        self._engine_for(frame).look(frame, tracks)

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """The face that the engine at work makes; all faces of a frame are made by the same one."""
        return self._engine_for(frame).swap(frame, track, identity, settings, stream)

    def _engine_for(self, frame: Frame) -> MeshEngine | NeuralEngine:
        """The engine at work, which changes between two frames alone."""
        place = frame.source_id, frame.epoch, frame.seq
        if place != self._seq:
            self._seq = place
            self._at_work = self._network or self._mesh
        return self._at_work

    def wait(self, *, timeout: float) -> bool:
        """Wait until the network is ready or has failed; False if ``timeout`` seconds passed first."""
        if self._loader is not None:
            self._loader.join(timeout=timeout)
            return not self._loader.is_alive()
        return True

    def _bring_in(self) -> None:
        network = self._load()
        network.warm_up()
        done: set[int] = set()
        while True:
            with self._lock:
                due = [one for key, one in self._known.items() if key not in done]
                if not due:
                    self._network = network  # from the next frame on
                    return
            for identity in due:
                network.prepare(identity)
                done.add(id(identity))

    def _bring_in_beside(self) -> None:
        try:
            self._bring_in()
        except LiveFusionError as error:
            self._give_up(error)
        except Exception as error:  # the border of a thread: the picture goes on, and says why without
            _log.debug("the network could not be loaded", exc_info=True)
            self._give_up(GraphError(f"the network could not be loaded ({type(error).__name__})"))

    def _give_up(self, error: LiveFusionError) -> None:
        self.failure = error
        _log.warning("%s; the mesh engine goes on", error.problem)
