"""One item to many sinks, each of which has a mailbox and a thread of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.runtime.mailbox import Mailbox


def fork_rendered(item: RenderedFrame) -> RenderedFrame:
    """The same picture with a trace of its own."""
    return replace(item, frame=replace(item.frame, trace=item.trace.fork()))


class FanOut:
    """Puts every entry into every branch; ``fork`` gives all branches but the last a trace of their own.

    Pixels are shared: after the fan-out everybody only reads.
    """

    def __init__(self, branches: Sequence[Mailbox[Any]], fork: Callable[[Any], Any]) -> None:
        self._branches = tuple(branches)
        self._fork = fork

    def put(self, entry: Any) -> None:
        """Put an entry into every branch; waits for those whose policy is to wait."""
        *others, last = self._branches
        for branch in others:
            branch.put(entry if isinstance(entry, Event) else self._fork(entry))
        last.put(entry)
