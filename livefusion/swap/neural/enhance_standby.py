"""New faces as they are drawn, until a network is ready to restore them: it is loaded beside the picture."""

import logging
import threading
from collections.abc import Callable

from livefusion.core.alignment import points_of
from livefusion.core.errors import GraphError, LiveFusionError, ModelError
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Stream
from livefusion.inference.session import Session
from livefusion.swap.neural.enhance import PatchRestorer

_log = logging.getLogger(__name__)


class Enhancer:
    """Restores new faces once its network is there. ``restore`` is called on the render thread alone.

    ``load`` makes the network. Where pictures must come in time, ``budget_s`` is the time of one: the network
    is loaded on a thread of its own, and one that takes longer for a face is not used, nor one that fails;
    ``failure`` says why. Without a budget ``warm_up`` loads it, and raises what is wrong.
    """

    def __init__(
        self,
        load: Callable[[], PatchRestorer],
        *,
        budget_s: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._load = load
        self._budget_s = budget_s
        self._clock = clock or SystemClock()
        self._restorer: PatchRestorer | None = None
        self._loader: threading.Thread | None = None
        self.failure: LiveFusionError | None = None
        """Why faces are not restored."""

    @property
    def networks(self) -> tuple[Session, ...]:
        """The network, once it is in use."""
        restorer = self._restorer
        return (restorer.session,) if restorer else ()

    @property
    def restored(self) -> int:
        """How many faces were restored."""
        restorer = self._restorer
        return restorer.restored - restorer.bad if restorer else 0

    @property
    def bad(self) -> int:
        """How many faces stayed as they were because the network gave no picture."""
        restorer = self._restorer
        return restorer.bad if restorer else 0

    def warm_up(self) -> None:
        """Load the network, or begin to."""
        if self._restorer is not None or self._loader is not None:
            return
        if self._budget_s is None:
            self._restorer = self._bring_in()
            return
        self._loader = threading.Thread(target=self._bring_in_beside, name="load-enhancer", daemon=True)
        self._loader.start()

    def restore(self, frame: Frame, patch: Patch, track: FaceTrack, share: float, stream: Stream) -> None:
        """Bring a patch by ``share`` in [0, 1] to the restored face, if the network is there."""
        restorer = self._restorer
        if restorer is not None and share > 0 and track.landmarks is not None:
            restorer.restore(frame, patch, points_of(track), share, stream)

    def wait(self, *, timeout: float) -> bool:
        """Wait until the network is ready or has failed; False if ``timeout`` seconds passed first."""
        if self._loader is None:
            return True
        self._loader.join(timeout=timeout)
        return not self._loader.is_alive()

    def _bring_in(self) -> PatchRestorer:
        restorer = self._load()
        took = restorer.try_out(self._clock)
        _log.info("%s restores a face in %.0f ms", restorer.name, 1000 * took)
        if self._budget_s is not None and took > self._budget_s:
            raise ModelError(
                f"{restorer.name} takes {1000 * took:.0f} ms for a face here, and a picture has "
                f"{1000 * self._budget_s:.0f}",
                "use a GPU, a smaller network, or a file as input",
            )
        return restorer

    def _bring_in_beside(self) -> None:
        try:
            self._restorer = self._bring_in()  # from the next face on
        except LiveFusionError as error:
            self._give_up(error)
        except Exception as error:  # the border of a thread: the picture goes on, and says why without
            _log.debug("the enhancer could not be loaded", exc_info=True)
            self._give_up(GraphError(f"the enhancer could not be loaded ({type(error).__name__})"))

    def _give_up(self, error: LiveFusionError) -> None:
        self.failure = error
        _log.warning("%s; faces are not restored", error.problem)
