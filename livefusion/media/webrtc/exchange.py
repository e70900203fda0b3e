"""Where the graph and its peers meet: the graph's ends hold it, and so does who lets the peers in."""

from dataclasses import dataclass

from livefusion.media.encode.outlet import Outlet
from livefusion.media.encode.share import EncoderShare
from livefusion.media.webrtc.inlet import Inlet

CEILING = 8_000_000
"""Most bits a second of one picture, in either direction, unless it is set."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """``inlet`` takes the picture of whoever sends, ``share`` encodes ours for all who watch."""

    inlet: Inlet
    share: EncoderShare

    @property
    def outlet(self) -> Outlet:
        """Where those who watch get it."""
        return self.share.outlet

    @staticmethod
    def make(ceiling: int = CEILING) -> "Exchange":
        """A new one, with a ceiling in bits a second."""
        return Exchange(Inlet(), EncoderShare(ceiling))
