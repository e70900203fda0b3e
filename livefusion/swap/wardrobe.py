"""The identities that an engine keeps ready."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from livefusion.core.errors import GraphError
from livefusion.core.face import Identity

MOST_IDENTITIES = 8
"""A prepared identity holds about 11 MB; the one prepared least recently makes room."""

Ready = TypeVar("Ready")


class Wardrobe(Generic[Ready]):
    """Identities as an engine prepared them. Thread-safe: they are prepared beside the drawing."""

    def __init__(self) -> None:
        # By ``id``: an identity that was loaded anew is another one, and the former may still be shown. It is
        # kept too, so that no other object takes its ``id``.
        self._ready: OrderedDict[int, tuple[Identity, Ready]] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, identity: Identity) -> bool:
        """Whether it is ready; it then counts as prepared just now."""
        with self._lock:
            known = id(identity) in self._ready
            if known:
                self._ready.move_to_end(id(identity))
            return known

    def keep(self, identity: Identity, ready: Ready) -> None:
        """Take in an identity that was prepared."""
        with self._lock:
            self._ready[id(identity)] = identity, ready
            while len(self._ready) > MOST_IDENTITIES:
                self._ready.popitem(last=False)

    def find(self, identity: Identity) -> Ready:
        """What was prepared. ``GraphError`` if nothing was."""
        with self._lock:
            found = self._ready.get(id(identity))
        if found is None:
            raise GraphError(f"identity {identity.id} was not prepared")
        return found[1]
