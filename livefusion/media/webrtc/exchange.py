"""Where the graph and its peers meet: the graph's ends hold it, and so does who lets the peers in."""

from dataclasses import dataclass

from livefusion.media.webrtc.inlet import Inlet
from livefusion.media.webrtc.outlet import Outlet

CEILING = 8_000_000
"""Most bits a second of one picture, in either direction, unless it is set."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """``inlet`` takes the picture of whoever sends, ``outlet`` gives ours to all who watch."""

    inlet: Inlet
    outlet: Outlet

    @staticmethod
    def make(ceiling: int = CEILING) -> "Exchange":
        """A new one, with a ceiling in bits a second."""
        return Exchange(Inlet(), Outlet(ceiling))
